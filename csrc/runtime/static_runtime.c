/* Programs that have the CUDA runtime linked into them, as nvcc does by default.
 *
 * Before such a program begins, each function of its runtime is made to jump to that of this library. The functions are
 * found by the symbol table of the program's file, so a program that was stripped keeps its own runtime.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* for dladdr and dl_iterate_phdr under -std=c11 */
#endif

#include "runtime/outcome.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
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

enum { FUNCTION_ALIGNMENT = 16 };

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

/* Leads the functions of the program's runtime to those of this library. */
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
        const void *target = dlsym(library, name);
        unsigned char *function = (unsigned char *)(base + symbol[i].st_value); // NOLINT(performance-no-int-to-ptr)
        if (target != NULL && !write_jump(function, target)) {
            smk_outcome_say(
                "%s of the program's own CUDA runtime cannot be replaced: build it with nvcc -cudart shared", name);
            return;
        }
    }
}

/* The address of the program itself, which comes first. */
static int take_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

static void lead_program(program_file *file)
{
    Dl_info own;
    uintptr_t base = 0;
    if (!read_header(file) || find_section(file, ".nv_fatbin", SHT_PROGBITS) == NULL ||
        dladdr((const void *)jump, &own) == 0) {
        return;
    }
    void *library = dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) {
        (void)dl_iterate_phdr(take_base, &base);
        lead_functions(file, base, library);
    }
}

/* Runs before what nvcc lets the program do when it starts. */
__attribute__((constructor)) static void begin_program(void)
{
    struct stat facts;
    const int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return;
    }
    if (fstat(descriptor, &facts) == 0 && facts.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED) {
            program_file file = {.bytes = bytes, .size = (size_t)facts.st_size};
            lead_program(&file);
            (void)munmap(bytes, (size_t)facts.st_size);
        }
    }
    (void)close(descriptor);
}
