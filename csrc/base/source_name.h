/* Names of variables and functions as the source has them, of those that compilers make of them. */
#ifndef SMK_BASE_SOURCE_NAME_H
#define SMK_BASE_SOURCE_NAME_H

#include "base/text.h"

#include <stddef.h>

/* A name without what nvcc -rdc=true puts before names of one file, static ones and those of anonymous namespaces:
 * __nv_static_8__1f_a_cu_buf is buf. */
smk_text smk_source_name_strip(smk_text name);

/* Writes the name of a variable: _ZN3foo3bufE is foo::buf. What is no nested name of the C++ ABI stays as it is, cut to
 * `size`. */
void smk_source_name_write(smk_text name, char *text, size_t size);

#endif
