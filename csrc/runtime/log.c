#include "runtime/log.h"

#include "base/heap.h"
#include "runtime/outcome.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES = 100, MESSAGE_BYTES = 256, LEVEL_ERROR = 0 };

static const char lost_words[] = "[older messages are left out]\n";

typedef struct log_callback {
    void (*function)(void *data, int level, char *message, size_t length);
    void *data;
    struct log_callback *next;
} log_callback;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char messages[MESSAGES][MESSAGE_BYTES]; /* number n at n % MESSAGES */
static unsigned count;                         /* of all messages until now */
static log_callback *callbacks;

/* Callbacks are called with the lock open: they may ask for the log. A message that one of them leads to is kept only. */
void smk_log_add(const char *message)
{
    static _Thread_local bool calling;
    log_callback known[8];
    size_t called = 0;
    char text[MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s", message);
    pthread_mutex_lock(&lock);
    memcpy(messages[count++ % MESSAGES], text, sizeof text);
    for (const log_callback *at = callbacks; at != NULL && called < sizeof known / sizeof *known; at = at->next) {
        known[called++] = *at;
    }
    pthread_mutex_unlock(&lock);
    if (!calling) {
        calling = true;
        for (size_t i = 0; i < called; i++) {
            known[i].function(known[i].data, LEVEL_ERROR, text, strlen(text));
        }
        calling = false;
    }
}

/* The number of the first message from *iterator on that is still there. */
static unsigned find_first(const unsigned *iterator, bool *lost)
{
    const unsigned oldest = count > MESSAGES ? count - MESSAGES : 0;
    const unsigned wanted = iterator == NULL ? 0 : *iterator;
    *lost = wanted < oldest;
    return wanted < oldest ? oldest : wanted;
}

SMK_EXPORT smk_cuda cudaLogsRegisterCallback(void (*function)(void *data, int level, char *message, size_t length),
                                             void *data, log_callback **made)
{
    if (function == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    log_callback *callback = smk_heap_allocate(1, sizeof *callback);
    if (callback == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
    }
    pthread_mutex_lock(&lock);
    *callback = (log_callback){.function = function, .data = data, .next = callbacks};
    callbacks = callback;
    pthread_mutex_unlock(&lock);
    if (made != NULL) {
        *made = callback;
    }
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaLogsUnregisterCallback(log_callback *callback)
{
    pthread_mutex_lock(&lock);
    log_callback **at = &callbacks;
    while (*at != NULL && *at != callback) {
        at = &(*at)->next;
    }
    const bool found = callback != NULL && *at != NULL;
    if (found) {
        *at = callback->next;
    }
    pthread_mutex_unlock(&lock);
    if (found) {
        smk_heap_free(callback);
    }
    return smk_outcome_return(found ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue);
}

SMK_EXPORT smk_cuda cudaLogsCurrent(unsigned *iterator, unsigned flags)
{
    if (iterator == NULL || flags != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    pthread_mutex_lock(&lock);
    *iterator = count;
    pthread_mutex_unlock(&lock);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaLogsDumpToFile(unsigned *iterator, const char *path, unsigned flags)
{
    FILE *file = path == NULL || flags != 0 ? NULL : fopen(path, "w");
    bool lost, written = file != NULL;
    if (file != NULL) {
        pthread_mutex_lock(&lock);
        unsigned at = find_first(iterator, &lost);
        written = !lost || fputs(lost_words, file) >= 0;
        for (; at < count && written; at++) {
            written = fprintf(file, "%s\n", messages[at % MESSAGES]) > 0;
        }
        if (iterator != NULL) {
            *iterator = at;
        }
        pthread_mutex_unlock(&lock);
        written = fclose(file) == 0 && written;
    }
    return smk_outcome_return(written ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue);
}

/* As many of the newest messages as there is room for, behind words that say so where others are left out. */
SMK_EXPORT smk_cuda cudaLogsDumpToMemory(unsigned *iterator, char *buffer, size_t *size, unsigned flags)
{
    if (buffer == NULL || size == NULL || *size == 0 || flags != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    bool lost;
    pthread_mutex_lock(&lock);
    const unsigned first = find_first(iterator, &lost);
    const size_t room = *size - 1;
    size_t bytes = 0, used = 0;
    for (unsigned i = first; i < count; i++) {
        bytes += strlen(messages[i % MESSAGES]) + 1;
    }
    const bool any = bytes > 0;
    unsigned begin = first;
    lost = lost && any;
    while (begin < count && bytes + (lost ? sizeof lost_words - 1 : 0) > room) {
        bytes -= strlen(messages[begin++ % MESSAGES]) + 1;
        lost = true;
    }
    if (lost && bytes > 0) {
        used = (size_t)snprintf(buffer, *size, "%s", lost_words);
    }
    for (unsigned i = begin; i < count; i++) {
        used += (size_t)snprintf(buffer + used, *size - used, "%s\n", messages[i % MESSAGES]);
    }
    buffer[used] = '\0';
    *size = used;
    if (iterator != NULL && (used > 0 || !any)) {
        *iterator = count;
    }
    pthread_mutex_unlock(&lock);
    return used > 0 || !any ? SMK_CUDA_Success : smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
}
