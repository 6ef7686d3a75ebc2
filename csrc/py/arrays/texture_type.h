/* _core._TextureObject: what smemkit.Texture keeps of a machine. */
#ifndef SMK_PY_ARRAYS_TEXTURE_TYPE_H
#define SMK_PY_ARRAYS_TEXTURE_TYPE_H

#include "py/state.h"

extern PyType_Spec smk_texture_type_spec;

#endif
