/* For RTLD_DEFAULT under -std=c11. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "runtime/outcome.h"

#include "base/source_name.h"
#include "runtime/log.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL_BYTES = 256, TEXT_BYTES = 64, MESSAGE_BYTES = 2048 };

static _Thread_local smk_cuda last;
static _Atomic int left_behind; /* the error of a kernel */

static const struct {
    smk_cuda code;
    const char *name;
} errors[] = {
#define SMK_CUDA_ERROR(number, name) {SMK_CUDA_##name, "cuda" #name},
#include "runtime/error.def"
#undef SMK_CUDA_ERROR
};

/* Of the C++ library of the program, as the ABI of C++ declares it. */
typedef char *demangle(const char *name, char *buffer, size_t *size, int *status);

static void name_kernel(const char *entry, char *text, size_t size)
{
    const char *name = smk_source_name_strip((smk_text){entry, strlen(entry)}).start; /* it goes on to the end */
    void *found = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    demangle *run = NULL;
    char *plain = NULL;
    memcpy(&run, &found, sizeof run); /* ISO C has no conversion of an object pointer to a function */
    if (run != NULL && name[0] == '_') {
        int status = 0;
        plain = run(name, NULL, NULL, &status);
    }
    (void)snprintf(text, size, "%s", plain == NULL ? name : plain);
    free(plain);
}

static void say(const char *kernel, const char *format, va_list arguments)
{
    char name[KERNEL_BYTES] = "", text[MESSAGE_BYTES];
    (void)fflush(stdout);
    name_kernel(kernel, name, sizeof name);
    const int used = snprintf(text, sizeof text, "%s%s", name, name[0] == '\0' ? "" : ": ");
    (void)vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    (void)fprintf(stderr, "smemkit run: %s\n", text);
    smk_log_add(text);
}

void smk_outcome_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
}

void smk_outcome_say_of(const char *kernel, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(kernel, format, arguments);
    va_end(arguments);
}

smk_cuda smk_outcome_return(smk_cuda code)
{
    if (code != SMK_CUDA_Success && code != SMK_CUDA_ErrorNotReady) {
        last = code;
        smk_log_add(smk_outcome_name(code));
    }
    return code;
}

smk_cuda smk_outcome_begin(void)
{
    const smk_cuda code = (smk_cuda)atomic_load_explicit(&left_behind, memory_order_relaxed);
    return code == SMK_CUDA_Success ? code : smk_outcome_return(code);
}

void smk_outcome_reset(void)
{
    atomic_store(&left_behind, SMK_CUDA_Success);
    last = SMK_CUDA_Success;
}

/* Where an error happened: " (file.cu:12, block (0, 0, 0), thread (5, 0, 0))". */
static void describe_location(const smk_error *error, char *text, size_t size)
{
    const char *const file = strrchr(error->source_file, '/');
    char location[160] = "", threads[96] = "";
    if (error->source_line != 0) {
        (void)snprintf(location, sizeof location, "%.100s:%u", file == NULL ? error->source_file : file + 1,
                       error->source_line);
    } else if (error->ptx_line != 0) {
        (void)snprintf(location, sizeof location, "line %u of the PTX; nvcc -lineinfo gives the line of the source",
                       error->ptx_line);
    }
    if (error->has_thread) {
        (void)snprintf(threads, sizeof threads, "%sblock (%u, %u, %u), thread (%u, %u, %u)",
                       location[0] == '\0' ? "" : ", ", error->block[0], error->block[1], error->block[2],
                       error->thread[0], error->thread[1], error->thread[2]);
    }
    const bool any = location[0] != '\0' || threads[0] != '\0';
    (void)snprintf(text, size, "%s%s%s%s", any ? " (" : "", location, threads, any ? ")" : "");
}

static void say_error(const smk_error *error)
{
    char location[288];
    describe_location(error, location, sizeof location);
    smk_outcome_say_of(error->kernel, "%s%s", error->message, location);
}

smk_cuda smk_outcome_find_code(const smk_error *error)
{
    switch (error->status) {
    case SMK_OUT_OF_BOUNDS:
        return SMK_CUDA_ErrorIllegalAddress;
    case SMK_MISALIGNED:
        return SMK_CUDA_ErrorMisalignedAddress;
    case SMK_ASSERTION:
        return SMK_CUDA_ErrorAssert;
    case SMK_DEADLOCK:
    case SMK_STEP_BUDGET:
        return SMK_CUDA_ErrorLaunchTimeout;
    case SMK_LAUNCH: /* as CUDA 13 has it; earlier ones said that the configuration is invalid */
    case SMK_SHARED_MEMORY:
    case SMK_ARGUMENT:
        return SMK_CUDA_ErrorInvalidValue;
    case SMK_MEMORY:
        return SMK_CUDA_ErrorMemoryAllocation;
    case SMK_UNSUPPORTED:
        return SMK_CUDA_ErrorNotSupported;
    case SMK_PTX:
    case SMK_PTX_TYPE:
        return SMK_CUDA_ErrorInvalidPtx;
    case SMK_OK:
    case SMK_TYPE:
    case SMK_SHAPE:
    case SMK_BACKEND:
    case SMK_CUDA:
    case SMK_COMPILE:
    case SMK_EXECUTION:
    case SMK_BARRIER:
    case SMK_TRAP:
    case SMK_INTERRUPTED:
    case SMK_INTERNAL:
    case SMK_STATUS_COUNT:
        break;
    }
    return SMK_CUDA_ErrorLaunchFailure;
}

void smk_outcome_fault(const smk_error *error)
{
    say_error(error);
    atomic_store(&left_behind, (int)smk_outcome_find_code(error));
}

smk_cuda smk_outcome_refuse(const smk_error *error)
{
    say_error(error);
    return smk_outcome_return(smk_outcome_find_code(error));
}

/* Exported ---------------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cudaGetLastError(void)
{
    const smk_cuda code = last;
    last = SMK_CUDA_Success;
    return code;
}

SMK_EXPORT smk_cuda cudaPeekAtLastError(void)
{
    return last;
}

static size_t find_error(smk_cuda code)
{
    size_t at = 0;
    while (at < sizeof errors / sizeof errors[0] && errors[at].code != code) {
        at++;
    }
    return at;
}

const char *smk_outcome_name(smk_cuda code)
{
    const size_t at = find_error(code);
    return at < sizeof errors / sizeof errors[0] ? errors[at].name : "unknown code";
}

SMK_EXPORT const char *cudaGetErrorName(smk_cuda code)
{
    return smk_outcome_name(code);
}

/* "cudaErrorIllegalAddress" as "illegal address". */
static void write_words(const char *name, char *text, size_t size)
{
    const size_t skipped = strncmp(name, "cudaError", 9) == 0 ? 9 : 4;
    size_t length = 0;
    name += skipped;
    for (size_t i = 0; name[i] != '\0' && length + 2 < size; i++) {
        const bool begins = i > 0 && isupper((unsigned char)name[i]) &&
                            (islower((unsigned char)name[i - 1]) || islower((unsigned char)name[i + 1]));
        if (begins) {
            text[length++] = ' ';
        }
        text[length++] = (char)tolower((unsigned char)name[i]);
    }
    text[length] = '\0';
}

static char texts[sizeof errors / sizeof errors[0]][TEXT_BYTES];

static void write_texts(void)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        write_words(errors[i].name, texts[i], TEXT_BYTES);
    }
}

SMK_EXPORT const char *cudaGetErrorString(smk_cuda code)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const size_t at = find_error(code);
    (void)pthread_once(&once, write_texts);
    return at < sizeof errors / sizeof errors[0] ? texts[at] : "unknown code";
}
