/* Docstrings of the builtins, with the signature that inspect reads in the first line. */
#ifndef SMK_PY_DOCS_H
#define SMK_PY_DOCS_H

#define SMK_DOCS_ASARRAY                                                                                               \
    "asarray(x, dtype=None, backend=None)\n--\n\n"                                                                     \
    "Copy to the memory of a machine; a DeviceArray that is there already is returned itself.\n\n"                     \
    "Parameters\n----------\n"                                                                                         \
    "x : array-like or DeviceArray\n"                                                                                  \
    "    Bool, integers, float16, float32, float64, complex64, complex128 or structures of these.\n"                   \
    "dtype : numpy.dtype or what makes one, optional\n    Converted to it; by default the type of x.\n"                \
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"                                                              \
    "    The machine; by default that of smemkit.get_backend(), and for a DeviceArray the one it lives on.\n\n"        \
    "Shapes\n------\nAny; the copy is C-contiguous and in native byte order.\n\n"                                      \
    "Returns\n-------\nDeviceArray\n\n"                                                                                \
    "Raises\n------\nArgumentTypeError (TypeError), BackendError, OutOfMemoryError (MemoryError).\n\n"                 \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.asarray([[1, 2, 3]], dtype=\"float32\", backend=\"sim\")\n"                                           \
    "DeviceArray(shape=(1, 3), dtype=float32, backend='sim')\n"

#define SMK_DOCS_EMPTY                                                                                                 \
    "empty(shape, dtype=\"float32\", backend=None)\n--\n\n"                                                            \
    "A new device array whose elements are unspecified.\n\n"                                                           \
    "Parameters\n----------\n"                                                                                         \
    "shape : int or tuple of int\n"                                                                                    \
    "dtype : numpy.dtype or what makes one\n"                                                                          \
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n    The machine; by default that of "                          \
    "smemkit.get_backend().\n\n"                                                                                       \
    "Shapes\n------\nAny, also without axes and without elements.\n\n"                                                 \
    "Returns\n-------\nDeviceArray\n\n"                                                                                \
    "Raises\n------\nArgumentTypeError (TypeError), ShapeError (ValueError), BackendError, OutOfMemoryError\n"         \
    "(MemoryError).\n\n"                                                                                               \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.empty((2, 3), backend=\"sim\").nbytes\n"                                                              \
    "24\n"

#define SMK_DOCS_ASNUMPY                                                                                               \
    "asnumpy(d, out=None)\n--\n\n"                                                                                     \
    "Copy a device array to the host.\n\n"                                                                             \
    "Parameters\n----------\n"                                                                                         \
    "d : DeviceArray\n"                                                                                                \
    "out : numpy.ndarray, optional\n    Takes the elements; of the same type and shape, writeable, any strides.\n\n"   \
    "Shapes\n------\nThe result has the shape of d.\n\n"                                                               \
    "Returns\n-------\nnumpy.ndarray: out itself where given, else a new C-contiguous one.\n\n"                        \
    "Raises\n------\nArgumentTypeError (TypeError), ShapeError and ArgumentError (both ValueError), CudaError where "  \
    "a\n"                                                                                                              \
    "kernel that wrote d has failed.\n\n"                                                                              \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.asnumpy(smemkit.asarray([1, 2, 3], backend=\"sim\")).tolist()\n"                                      \
    "[1, 2, 3]\n"

#define SMK_DOCS_FAMILIES                                                                                              \
    "families()\n--\n\n"                                                                                               \
    "The kernel families.\n\n"                                                                                         \
    "Shapes\n------\nA family's signature is in the language of NumPy's generalised ufuncs.\n\n"                       \
    "Returns\n-------\ndict from name to {\"signature\": str, \"shows\": str, \"variants\": tuple of names}\n\n"       \
    "Raises\n------\nNothing.\n\n"                                                                                     \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.families()[\"gemm\"][\"signature\"]\n"                                                                \
    "'(m,k),(k,n)->(m,n)'\n"

#define SMK_DOCS_VARIANTS                                                                                              \
    "variants(family)\n--\n\n"                                                                                         \
    "The variants of a family: what each shows and accepts.\n\n"                                                       \
    "Parameters\n----------\n"                                                                                         \
    "family : str\n    A key of smemkit.families().\n\n"                                                               \
    "Shapes\n------\nblock is threads, tile is elements of the result that one block computes, both (x, y).\n\n"       \
    "Returns\n-------\n"                                                                                               \
    "dict from name to {\"shows\": str, \"dtypes\": tuple of str, \"block\": (x, y), \"tile\": (x, y), \"auto\": "     \
    "bool};\n"                                                                                                         \
    "auto says whether variant=\"auto\" may take it.\n\n"                                                              \
    "Raises\n------\nArgumentError (ValueError) where there is no such family.\n\n"                                    \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.variants(\"gemm\")[\"padded\"][\"tile\"]\n"                                                           \
    "(32, 32)\n"

#define SMK_DOCS_SOURCE                                                                                                \
    "source(family, variant)\n--\n\n"                                                                                  \
    "The CUDA C source of a kernel; T stands for the element type.\n\n"                                                \
    "Parameters\n----------\n"                                                                                         \
    "family, variant : str\n    Keys of smemkit.families() and smemkit.variants(family).\n\n"                          \
    "Shapes\n------\nNone.\n\n"                                                                                        \
    "Returns\n-------\nstr\n\n"                                                                                        \
    "Raises\n------\nArgumentError (ValueError) where there is no such variant; it lists those there are.\n\n"         \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> \"__global__\" in smemkit.source(\"gemm\", \"padded\")\n"                                                     \
    "True\n"

#define SMK_DOCS_PTX                                                                                                   \
    "ptx(family, variant)\n--\n\n"                                                                                     \
    "The PTX of a kernel: one entry for each element type, <family>_<variant>_<dtype>.\n\n"                            \
    "Parameters\n----------\n"                                                                                         \
    "family, variant : str\n    Keys of smemkit.families() and smemkit.variants(family).\n\n"                          \
    "Shapes\n------\nNone.\n\n"                                                                                        \
    "Returns\n-------\nstr\n\n"                                                                                        \
    "Raises\n------\nArgumentError (ValueError) where there is no such variant; it lists those there are.\n\n"         \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.RawModule(smemkit.ptx(\"gemm\", \"tiled\")).kernels\n"                                                \
    "('gemm_tiled_float32', 'gemm_tiled_float64')\n"

#define SMK_DOCS_SET_BACKEND                                                                                           \
    "set_backend(backend)\n--\n\n"                                                                                     \
    "Choose the machine of every call that names none.\n\n"                                                            \
    "Parameters\n----------\n"                                                                                         \
    "backend : \"auto\", \"cuda\", \"sim\" or None\n"                                                                  \
    "    \"auto\" is the GPU where there is one and the simulator where not. None takes the choice back: then\n"       \
    "    the environment variable SMEMKIT_BACKEND decides, and \"auto\" where it is not set.\n\n"                      \
    "Shapes\n------\nNone.\n\n"                                                                                        \
    "Returns\n-------\nNone\n\n"                                                                                       \
    "Raises\n------\nArgumentError (ValueError) for another word; BackendError for \"cuda\" where there is no "        \
    "GPU.\n\n"                                                                                                         \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.set_backend(\"sim\")\n"                                                                               \
    ">>> smemkit.get_backend()\n"                                                                                      \
    "'sim'\n"                                                                                                          \
    ">>> smemkit.set_backend(None)\n"

#define SMK_DOCS_GET_BACKEND                                                                                           \
    "get_backend()\n--\n\n"                                                                                            \
    "The machine that a call without backend= runs on now.\n\n"                                                        \
    "Shapes\n------\nNone.\n\n"                                                                                        \
    "Returns\n-------\n\"cuda\" or \"sim\"\n\n"                                                                        \
    "Raises\n------\nBackendError where SMEMKIT_BACKEND asks for a GPU and there is none; ArgumentError "              \
    "(ValueError)\n"                                                                                                   \
    "where it holds another word.\n\n"                                                                                 \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.get_backend() in (\"cuda\", \"sim\")\n"                                                               \
    "True\n"

#define SMK_DOCS_DEVICE_INFO                                                                                           \
    "device_info(device=None, backend=None)\n--\n\n"                                                                   \
    "Facts of a machine; the unit stands in the name of each.\n\n"                                                     \
    "Parameters\n----------\n"                                                                                         \
    "device : int, optional\n    Number of a GPU; by default the present one.\n"                                       \
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"                                                              \
    "    \"sim\" gives the limits of the simulated machine, under the names they have on a GPU.\n\n"                   \
    "Shapes\n------\nNone.\n\n"                                                                                        \
    "Returns\n-------\ndict from str to int, float or str\n\n"                                                         \
    "Raises\n------\nBackendError where there is no GPU, ArgumentError (ValueError) where there is no such "           \
    "device.\n\n"                                                                                                      \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.device_info(backend=\"sim\")[\"warp_lanes\"]\n"                                                       \
    "32\n"

#endif
