/* Initial values of textures, surfaces and samplers that a module declares; private to csrc/ptx. */
#ifndef SMK_PTX_REFERENCE_H
#define SMK_PTX_REFERENCE_H

#include "ptx/parse.h"

/* { addr_mode_0 = wrap, filter_mode = linear }. A sampler becomes the word that says all of it (base/texture.h); of the
 * others the host says what they are, so that theirs are read and ignored. */
smk_status smk_reference_parse(smk_parser *parser, smk_variable *variable);

#endif
