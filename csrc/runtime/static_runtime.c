/* Programs, and libraries that they load, that have the CUDA runtime linked into them, as nvcc does by default.
 *
 * Before such a program begins, each function of its runtime is made to jump to that of this library. The functions are
 * found by the symbol table of the program's file, so a program that was stripped keeps its own runtime. Of a library
 * that is done when the program begins or, as of an extension module of Python, when its first function is asked for by
 * name: dlsym passes here. Such a library may have registered its kernels by then, with its own runtime: what nvcc has
 * put into it to do so runs again, and so registers them here.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* for dladdr and dl_iterate_phdr under -std=c11 */
#endif

#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/outcome.h"
#include "runtime/watch.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Code that jumps to any address, which follows it. Functions are aligned to 16 bytes, so it never reaches the next. */
#if defined(__x86_64__)
static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
#elif defined(__aarch64__)
static const unsigned char jump[] = {0x51, 0, 0, 0x58, 0x20, 0x02, 0x1f, 0xd6}; /* ldr x17, .+8; br x17 */
#else
static const unsigned char jump[1];
#endif

enum { FUNCTION_ALIGNMENT = 16, PATH_BYTES = 4096 };

/* The file of the program, in memory. */
typedef struct program_file {
    const unsigned char *bytes;
    size_t size;
    const ElfW(Ehdr) * header;
    const ElfW(Shdr) * section;
} program_file;

static const char *get_text(const program_file *file, const ElfW(Shdr) * table, size_t offset)
{
    return offset < table->sh_size ? (const char *)file->bytes + table->sh_offset + offset : "";
}

/* The section of a name and type; NULL: there is none. */
static const ElfW(Shdr) * find_section(const program_file *file, const char *name, unsigned type)
{
    const ElfW(Shdr) *names = &file->section[file->header->e_shstrndx];
    for (size_t i = 0; i < file->header->e_shnum; i++) {
        const ElfW(Shdr) *section = &file->section[i];
        if (section->sh_type == type && strcmp(get_text(file, names, section->sh_name), name) == 0 &&
            section->sh_offset <= file->size && section->sh_size <= file->size - section->sh_offset) {
            return section;
        }
    }
    return NULL;
}

/* Is it a file whose sections can be read? */
static bool read_header(program_file *file)
{
    file->header = (const ElfW(Ehdr) *)(const void *)file->bytes;
    if (file->size < sizeof *file->header || memcmp(file->bytes, ELFMAG, SELFMAG) != 0 ||
        file->header->e_shoff > file->size ||
        file->header->e_shnum * sizeof *file->section > file->size - file->header->e_shoff ||
        file->header->e_shstrndx >= file->header->e_shnum) {
        return false;
    }
    file->section = (const ElfW(Shdr) *)(const void *)(file->bytes + file->header->e_shoff);
    return true;
}

static bool write_jump(unsigned char *function, const void *target)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)function / page * page;
    const size_t bytes = sizeof jump + sizeof target;
    const size_t length = (size_t)((uintptr_t)function + bytes - first);
    void *pages = (void *)first; // NOLINT(performance-no-int-to-ptr)
    if (sizeof jump == 1 || (uintptr_t)function % FUNCTION_ALIGNMENT != 0 ||
        mprotect(pages, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        return false;
    }
    memcpy(function, jump, sizeof jump);
    memcpy(function + sizeof jump, &target, sizeof target);
    __builtin___clear_cache((char *)function, (char *)function + bytes);
    return mprotect(pages, length, PROT_READ | PROT_EXEC) == 0;
}

/* The dlsym of the C library, which this file has one of its own in front of. */
typedef void *(*symbol_lookup)(void *library, const char *name);

static symbol_lookup get_lookup(void)
{
    static _Atomic(symbol_lookup) known;
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    symbol_lookup lookup = atomic_load(&known);
    for (size_t i = 0; i < sizeof versions / sizeof *versions && lookup == NULL; i++) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        memcpy(&lookup, &found, sizeof lookup);
    }
    atomic_store(&known, lookup);
    return lookup;
}

/* Leads the functions of a runtime to those of this library. */
static void lead_functions(const program_file *file, uintptr_t base, void *library)
{
    const ElfW(Shdr) *symbols = find_section(file, ".symtab", SHT_SYMTAB);
    const ElfW(Shdr) *names = find_section(file, ".strtab", SHT_STRTAB);
    if (symbols == NULL || names == NULL) {
        return;
    }
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)(const void *)(file->bytes + symbols->sh_offset);
    for (size_t i = 0; i < symbols->sh_size / sizeof *symbol; i++) {
        const char *name = get_text(file, names, symbol[i].st_name);
        const bool ours = strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0;
        if (!ours || ELF64_ST_TYPE(symbol[i].st_info) != STT_FUNC || symbol[i].st_shndx == SHN_UNDEF) {
            continue;
        }
        const void *target = get_lookup()(library, name);
        unsigned char *function = (unsigned char *)(base + symbol[i].st_value); // NOLINT(performance-no-int-to-ptr)
        if ((uintptr_t)function % FUNCTION_ALIGNMENT != 0 && ELF64_ST_BIND(symbol[i].st_info) == STB_LOCAL) {
            continue; /* none of the runtime's: a function that a header of CUDA has put into the program */
        }
        if (target != NULL && !write_jump(function, target)) {
            smk_outcome_say(
                "%s of the program's own CUDA runtime cannot be replaced: build it with nvcc -cudart shared", name);
            return;
        }
    }
}

/* Has the file a function of that name? */
static bool has_function(const program_file *file, const char *wanted)
{
    const ElfW(Shdr) *symbols = find_section(file, ".symtab", SHT_SYMTAB);
    const ElfW(Shdr) *names = find_section(file, ".strtab", SHT_STRTAB);
    if (symbols == NULL || names == NULL) {
        return false;
    }
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)(const void *)(file->bytes + symbols->sh_offset);
    for (size_t i = 0; i < symbols->sh_size / sizeof *symbol; i++) {
        if (strcmp(get_text(file, names, symbol[i].st_name), wanted) == 0) {
            return true;
        }
    }
    return false;
}

/* The library that stands in for the runtime of a file: this one, or that of CUDA 12 beside it. NULL: there is none. */
static void *find_runtime(const program_file *file)
{
    Dl_info own;
    char path[PATH_BYTES];
    if (dladdr((const void *)jump, &own) == 0 || strlen(own.dli_fname) >= sizeof path) {
        return NULL;
    }
    memcpy(path, own.dli_fname, strlen(own.dli_fname) + 1);
    if (has_function(file, "cudaGetDeviceProperties_v2") && strlen(path) > 2) { /* CUDA 13 has it no more */
        memcpy(path + strlen(path) - 2, "12", 2);
    }
    return dlopen(path, RTLD_NOW);
}

/* What counts the files of a program that the device linker has linked (nvcc -rdc=true) as they register their kernels,
 * which all are registered with the last of. */
static const char counter_start[] = "_ZZL26__cudaRegisterLinkedBinary", counter_end[] = "E3__i";

static bool is_link_counter(const char *name)
{
    const size_t length = strlen(name), start = strlen(counter_start), end = strlen(counter_end);
    return length > start + end && memcmp(name, counter_start, start) == 0 &&
           memcmp(name + length - end, counter_end, end) == 0;
}

/* What registers the kernels of a file of CUDA C, and where it keeps what the runtime gave it for them; both by the
 * names that nvcc's output has for C++. */
static const char registers_kernels[] = "_ZL24__sti____cudaRegisterAllv", handle_name[] = "_ZL20__cudaFatCubinHandle";

typedef void registration(void);

/* Registrations that have run with another runtime; under `lock`. */
static struct {
    registration **item;
    size_t count;
} earlier;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add_earlier(uintptr_t address)
{
    registration **grown =
        smk_heap_resize((void *)earlier.item, earlier.count * sizeof *grown, (earlier.count + 1) * sizeof *grown);
    if (grown != NULL) {
        earlier.item = grown;
        memcpy(&grown[earlier.count++], &address, sizeof address);
    }
}

/* Notes the registrations of a library whose constructors have run: a handle of theirs is set. */
static void note_registrations(const program_file *file, uintptr_t base)
{
    const ElfW(Shdr) *symbols = find_section(file, ".symtab", SHT_SYMTAB);
    const ElfW(Shdr) *names = find_section(file, ".strtab", SHT_STRTAB);
    bool ran = false;
    if (symbols == NULL || names == NULL) {
        return;
    }
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)(const void *)(file->bytes + symbols->sh_offset);
    const size_t count = symbols->sh_size / sizeof *symbol;
    for (size_t i = 0; i < count && !ran; i++) {
        if (strcmp(get_text(file, names, symbol[i].st_name), handle_name) == 0) {
            ran = *(void *const *)(base + symbol[i].st_value) != NULL; // NOLINT(performance-no-int-to-ptr)
        }
    }
    for (size_t i = 0; i < count && ran; i++) {
        const char *name = get_text(file, names, symbol[i].st_name);
        if (strcmp(name, registers_kernels) == 0) {
            add_earlier(base + symbol[i].st_value);
        } else if (is_link_counter(name)) {
            *(int *)(base + symbol[i].st_value) = 0; // NOLINT(performance-no-int-to-ptr)
        }
    }
}

/* Has a library a runtime of its own and no symbols by which its functions could be found? One that takes the functions
 * of a runtime from elsewhere names them in its table for the loader. */
static bool is_stripped(const program_file *file)
{
    const ElfW(Shdr) *symbols = find_section(file, ".dynsym", SHT_DYNSYM);
    const ElfW(Shdr) *names = find_section(file, ".dynstr", SHT_STRTAB);
    if (find_section(file, ".nv_fatbin", SHT_PROGBITS) == NULL || find_section(file, ".symtab", SHT_SYMTAB) != NULL) {
        return false;
    }
    for (size_t i = 0; symbols != NULL && names != NULL && i < symbols->sh_size / sizeof(ElfW(Sym)); i++) {
        const ElfW(Sym) *symbol = (const ElfW(Sym) *)(const void *)(file->bytes + symbols->sh_offset) + i;
        if (strcmp(get_text(file, names, symbol->st_name), "__cudaRegisterFatBinary") == 0) {
            return false;
        }
    }
    return true;
}

/* Reads a file of the program and leads the runtime in it. */
static void lead_file(const char *path, uintptr_t base)
{
    struct stat facts;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return;
    }
    if (fstat(descriptor, &facts) == 0 && facts.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED) {
            program_file file = {.bytes = bytes, .size = (size_t)facts.st_size};
            const bool readable = read_header(&file);
            void *library = readable ? find_runtime(&file) : NULL;
            if (readable && is_stripped(&file)) {
                smk_watch_add_stripped(path);
            }
            if (library != NULL) {
                note_registrations(&file, base);
                lead_functions(&file, base, library);
            }
            (void)munmap(bytes, (size_t)facts.st_size);
        }
    }
    (void)close(descriptor);
}

/* The address of the program itself, which comes first. */
static int take_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

/* Libraries ----------------------------------------------------------------------------------------------- */

static smk_address_map seen;               /* under it: by where an object lies */
static _Atomic unsigned long long objects; /* that have been loaded when that was last looked at */

/* One object of the process. A real runtime that is a library of its own, and the libraries of this package, are left as
 * they are. `folder`: that of this library. */
static int lead_object(struct dl_phdr_info *info, size_t size, void *folder)
{
    const void *place = (const void *)info->dlpi_addr; // NOLINT(performance-no-int-to-ptr)
    const char *path = info->dlpi_name;
    (void)size;
    if (place == NULL || smk_address_map_get(&seen, place) != NULL || !smk_address_map_set(&seen, place, &seen)) {
        return 0;
    }
    if (path != NULL && strchr(path, '/') != NULL && strncmp(path, folder, strlen(folder)) != 0 &&
        strstr(path, "/libcudart") == NULL) {
        lead_file(path, info->dlpi_addr);
    }
    return 0;
}

/* The folder of the package: that above the one of this library. */
static bool find_folder(char *folder, size_t capacity)
{
    Dl_info own;
    if (dladdr((const void *)jump, &own) == 0 || strlen(own.dli_fname) >= capacity) {
        return false;
    }
    memcpy(folder, own.dli_fname, strlen(own.dli_fname) + 1);
    for (int i = 0; i < 2; i++) {
        char *end = strrchr(folder, '/');
        if (end == NULL) {
            return false;
        }
        *end = '\0';
    }
    return true;
}

static int count_objects(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

/* Leads the runtimes of libraries that have been loaded since this was called last. Never inlined: its variables would
 * keep dlsym from ending with a jump. */
__attribute__((noinline)) static void lead_libraries(void)
{
    char folder[PATH_BYTES];
    unsigned long long count = 0;
    (void)dl_iterate_phdr(count_objects, &count);
    if (count == atomic_exchange(&objects, count) || !find_folder(folder, sizeof folder)) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    (void)dl_iterate_phdr(lead_object, folder);
    registration **again = earlier.item;
    const size_t found = earlier.count;
    earlier.item = NULL;
    earlier.count = 0;
    (void)pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < found; i++) {
        again[i]();
    }
    smk_heap_free((void *)again);
}

/* Runs before what nvcc lets the program do when it starts. */
__attribute__((constructor)) static void begin_program(void)
{
    uintptr_t base = 0;
    (void)dl_iterate_phdr(take_base, &base);
    lead_file("/proc/self/exe", base);
    lead_libraries();
}

/* In front of that of the C library, which it ends with a jump to: what it finds may depend on who asks. It hides
 * nvJitLink, which makes machine code of PTX: callers then have the driver link, which keeps the PTX here. */
SMK_EXPORT void *dlsym(void *library, const char *name)
{
    if (strncmp(name, "nvJitLink", 9) == 0 || strncmp(name, "__nvJitLink", 11) == 0) {
        return NULL;
    }
    if (library != RTLD_NEXT && library != RTLD_DEFAULT) {
        lead_libraries();
    }
    return get_lookup()(library, name);
}
