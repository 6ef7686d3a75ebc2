/* The modules of the program: what nvcc's code registers when the program starts, and what it becomes when a kernel or a
 * variable is first used. */
#ifndef SMK_RUNTIME_BINARIES_H
#define SMK_RUNTIME_BINARIES_H

#include "runtime/abi.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A fat binary of the program. */
typedef struct smk_binary {
    const void *image;         /* NULL: `text` is all there is */
    const void *const *linked; /* images that the device linker was given, up to NULL; NULL: none */
    char *text;                /* the PTX, once it has been read; else that of a binary without an image */
    smk_module *module;
    smk_program *program; /* NULL before the first use, and where it cannot be loaded */
    smk_cuda code;        /* why it cannot */
    smk_error why;        /* the same in words */
    bool tried;
    struct smk_binary *next;
} smk_binary;

/* A kernel of the program. */
typedef struct smk_kernel {
    smk_binary *binary;
    const char *name;
    uint32_t entry; /* in the module */
    bool ready;     /* `entry` and what follows are known */
    uint32_t parameter_count;
    smk_program_attributes attributes;
    int max_dynamic_shared; /* bytes that cudaFuncSetAttribute admits; -1: the default */
    int carveout;
    smk_cuda code; /* why it cannot be launched */
    smk_error why; /* the same in words; of one whose binary cannot be loaded: those of the binary */
} smk_kernel;

/* A module-scope variable of the program. */
typedef struct smk_device_variable {
    smk_binary *binary;
    const char *name;
    uint64_t address, bytes; /* address 0: not known yet */
    void **managed;          /* where the program keeps the address of a managed variable; NULL: it is not managed */
} smk_device_variable;

smk_binary *smk_binaries_add(const void *image, const void *const *linked);

/* A binary of PTX text, of which it keeps a copy. */
smk_binary *smk_binaries_add_text(const char *text);

/* Loads a binary by the PTX of its images. Remembers why it cannot be loaded. */
smk_cuda smk_binaries_load(smk_binary *binary);

/* The kernel of a host function, or of a handle that smk_kernel is; NULL: there is none. Its module is loaded. */
smk_kernel *smk_binaries_find_kernel(const void *function, smk_cuda *code);

/* A kernel of a binary by name, which becomes a handle. NULL: there is none. */
smk_kernel *smk_binaries_name_kernel(smk_binary *binary, const char *name, smk_cuda *code);

/* The variable of a host variable, with its address. */
smk_cuda smk_binaries_find_variable(const void *variable, smk_device_variable **found);

#endif
