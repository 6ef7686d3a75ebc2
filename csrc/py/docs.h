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
    "out : numpy.ndarray, optional\n    Takes the elements; of the same type and shape, writeable, any strides. Where\n" \
    "    Ctrl-C ends the copy, it has a part of them.\n\n"                                                               \
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
    "dict from name to {\"shows\": str, \"dtypes\": tuple of str, \"block\": (x, y), \"tile\": (x, y),\n"              \
    "\"compute_capability\": str, \"auto\": bool}; dtypes are NumPy's names, or bits8, bits16, bits32, bits64: any "   \
    "type\n"                                                                                                           \
    "of that size; compute_capability is the lowest it runs on; auto says whether variant=\"auto\" may take it.\n\n"   \
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

#define SMK_DOCS_KERNEL                                                                                                \
    "kernel(family, variant, dtype=None, choice=None)\n"                                                               \
    "--\n"                                                                                                             \
    "\n"                                                                                                               \
    "One of the package's kernels as a RawKernel, for launches, profiles and checks of your own.\n"                    \
    "\n"                                                                                                               \
    "Parameters\n"                                                                                                     \
    "----------\n"                                                                                                     \
    "family, variant : str\n"                                                                                          \
    "    Keys of smemkit.families() and smemkit.variants(family).\n"                                                   \
    "dtype : numpy.dtype or what makes one, optional\n"                                                                \
    "    The element type; by default the first that the variant takes.\n"                                             \
    "choice : str, optional\n"                                                                                         \
    "    Where the family compiles a choice in (the op of reduce): which; by default the first.\n"                     \
    "\n"                                                                                                               \
    "Shapes\n"                                                                                                         \
    "------\n"                                                                                                         \
    "None; the kernel's header says what its parameters are, and smemkit.variants its block.\n"                        \
    "\n"                                                                                                               \
    "Returns\n"                                                                                                        \
    "-------\n"                                                                                                        \
    "RawKernel\n"                                                                                                      \
    "\n"                                                                                                               \
    "Raises\n"                                                                                                         \
    "------\n"                                                                                                         \
    "ArgumentError (ValueError), ArgumentTypeError (TypeError).\n"                                                     \
    "\n"                                                                                                               \
    "Example\n"                                                                                                        \
    "-------\n"                                                                                                        \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.kernel(\"gemm\", \"padded\", \"float64\").name\n"                                                     \
    "'gemm_padded_float64'\n"

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

#define SMK_DOCS_BANK_ACCESS                                                                                           \
    "bank_access(addresses, width=4, *, mask=0xffffffff, op=\"load\")\n"                                               \
    "--\n"                                                                                                             \
    "\n"                                                                                                               \
    "What one warp-wide access to shared memory costs: its wavefronts and bank conflicts.\n"                           \
    "\n"                                                                                                               \
    "Shared memory has 32 banks of 4-byte words: byte a lies in bank a // 4 % 32. An access goes in phases\n"          \
    "of consecutive lanes, 32 lanes for widths up to 4 bytes, 16 for 8, 8 for 16, and each phase takes as\n"           \
    "many wavefronts as the bank with the most distinct words has of them; lanes on one word share it. A\n"            \
    "load of 8 or 16 bytes doubles its phases where every lane's address is that of lane ^ 1, or every\n"              \
    "one's is that of lane ^ 2. In atomics and copies each lane counts, also those on one word.\n"                     \
    "\n"                                                                                                               \
    "Parameters\n"                                                                                                     \
    "----------\n"                                                                                                     \
    "addresses : array-like of int\n"                                                                                  \
    "    Bytes from the start of shared memory, one a lane; multiples of width. Lanes not in mask may hold\n"          \
    "    anything.\n"                                                                                                  \
    "width : int\n"                                                                                                    \
    "    Bytes a lane: 1, 2, 4, 8 or 16.\n"                                                                            \
    "mask : int or array-like of int\n"                                                                                \
    "    Bit i is set where lane i takes part.\n"                                                                      \
    "op : \"load\", \"store\", \"atomic\", \"async\", \"cas\", \"increment\" or \"matrix\"\n"                          \
    "    \"async\" is the shared side of cp.async.ca from a row of global memory; other sources cost more, and\n"      \
    "    profile counts all. \"cas\" is compare and swap, \"increment\" is red.add of the constant 1, whose\n"         \
    "    lanes share words. \"matrix\" is ldmatrix (width 16): each matrix, 8 rows, is a phase.\n"                     \
    "\n"                                                                                                               \
    "Shapes\n"                                                                                                         \
    "------\n"                                                                                                         \
    "addresses is (..., 32), one row a warp; mask has no axes or broadcasts to the leading ones. Counts\n"             \
    "have the shape of the leading axes, words is (..., 32).\n"                                                        \
    "\n"                                                                                                               \
    "Units\n"                                                                                                          \
    "-----\n"                                                                                                          \
    "Addresses and width in bytes, words in 4-byte words.\n"                                                           \
    "\n"                                                                                                               \
    "Returns\n"                                                                                                        \
    "-------\n"                                                                                                        \
    "BankAccess, a named tuple: wavefronts; conflicts, the wavefronts more than there are phases; phases,\n"           \
    "with a lane that takes part (twice as many for cas, which brings two operands); words, how many distinct\n"       \
    "words (of atomics: lanes) each bank serves in its busiest phase. The first three are ints for one access\n"       \
    "and int64 arrays for more.\n"                                                                                     \
    "\n"                                                                                                               \
    "Raises\n"                                                                                                         \
    "------\n"                                                                                                         \
    "ArgumentTypeError (TypeError) where addresses or mask are no integers, ShapeError (ValueError) where\n"           \
    "the last axis is not 32 or mask does not fit, ArgumentError (ValueError) for a width, op or mask that\n"          \
    "does not exist and for a lane whose address is negative, misaligned or has more than 32 bits.\n"                  \
    "\n"                                                                                                               \
    "Source\n"                                                                                                         \
    "------\n"                                                                                                         \
    "Measured on an H200 with Nsight Compute: l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_* are the\n"           \
    "conflicts, l1tex__data_pipe_lsu_wavefronts_mem_shared_op_* the wavefronts (Nsight Compute\n"                      \
    "documentation, Memory Tables).\n"                                                                                 \
    "\n"                                                                                                               \
    "Example\n"                                                                                                        \
    "-------\n"                                                                                                        \
    ">>> import numpy, smemkit\n"                                                                                      \
    ">>> lane = numpy.arange(32)\n"                                                                                    \
    ">>> smemkit.bank_access(4 * 32 * lane).conflicts  # a column of a tile of 32 floats\n"                            \
    "31\n"                                                                                                             \
    ">>> smemkit.bank_access(4 * 33 * lane).conflicts  # padded\n"                                                     \
    "0\n"

#define SMK_DOCS_SECTORS                                                                                               \
    "sectors(addresses, width=4, *, mask=0xffffffff)\n"                                                                \
    "--\n"                                                                                                             \
    "\n"                                                                                                               \
    "How many sectors of global memory one warp-wide access touches; a sector is 32 aligned bytes.\n"                  \
    "\n"                                                                                                               \
    "Parameters\n"                                                                                                     \
    "----------\n"                                                                                                     \
    "addresses : array-like of int\n"                                                                                  \
    "    In bytes, one a lane; multiples of width. Lanes not in mask may hold anything.\n"                             \
    "width : int\n"                                                                                                    \
    "    Bytes a lane: 1, 2, 4, 8 or 16.\n"                                                                            \
    "mask : int or array-like of int\n"                                                                                \
    "    Bit i is set where lane i takes part.\n"                                                                      \
    "\n"                                                                                                               \
    "Shapes\n"                                                                                                         \
    "------\n"                                                                                                         \
    "addresses is (..., 32), one row a warp; mask has no axes or broadcasts to the leading ones. The result\n"         \
    "has the shape of the leading axes.\n"                                                                             \
    "\n"                                                                                                               \
    "Units\n"                                                                                                          \
    "-----\n"                                                                                                          \
    "Addresses and width in bytes.\n"                                                                                  \
    "\n"                                                                                                               \
    "Returns\n"                                                                                                        \
    "-------\n"                                                                                                        \
    "int for one access, else an int64 array.\n"                                                                       \
    "\n"                                                                                                               \
    "Raises\n"                                                                                                         \
    "------\n"                                                                                                         \
    "ArgumentTypeError (TypeError) where addresses or mask are no integers, ShapeError (ValueError) where\n"           \
    "the last axis is not 32 or mask does not fit, ArgumentError (ValueError) for a width or mask that does\n"         \
    "not exist and for a lane whose address is negative or misaligned.\n"                                              \
    "\n"                                                                                                               \
    "Source\n"                                                                                                         \
    "------\n"                                                                                                         \
    "Measured on an H200 with Nsight Compute: smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_* (Nsight\n"           \
    "Compute documentation, Memory Tables).\n"                                                                         \
    "\n"                                                                                                               \
    "Example\n"                                                                                                        \
    "-------\n"                                                                                                        \
    ">>> import numpy, smemkit\n"                                                                                      \
    ">>> lane = numpy.arange(32)\n"                                                                                    \
    ">>> smemkit.sectors(4 * lane), smemkit.sectors(4 * lane + 4), smemkit.sectors(32 * lane)\n"                       \
    "(4, 5, 32)\n"

#define SMK_DOCS_KERNEL_PROFILE                                                                                        \
    "profile($self, /, grid, block, args, *, shared_mem=0, backend=None, max_steps=None, blocks=None, model=True)\n"   \
    "--\n"                                                                                                             \
    "\n"                                                                                                               \
    "Runs the kernel on the simulator and counts what it does; smemkit.profile(kernel, grid, block, args).\n"          \
    "\n"                                                                                                               \
    "Parameters\n"                                                                                                     \
    "----------\n"                                                                                                     \
    "grid, block, args, shared_mem, max_steps\n"                                                                       \
    "    As for a call of the kernel.\n"                                                                               \
    "backend : \"cuda\" or None\n"                                                                                     \
    "    \"cuda\" adds the time that the GPU takes.\n"                                                                 \
    "blocks : int, optional\n"                                                                                         \
    "    Counts only so many blocks, evenly spread over the grid; results are then incomplete.\n"                      \
    "model : bool\n"                                                                                                   \
    "    Counts accesses as ptxas fuses them; False: as the PTX has them.\n"                                           \
    "\n"                                                                                                               \
    "Returns\n"                                                                                                        \
    "-------\n"                                                                                                        \
    "Report\n"                                                                                                         \
    "\n"                                                                                                               \
    "Raises\n"                                                                                                         \
    "------\n"                                                                                                         \
    "As a call of the kernel; ArgumentError (ValueError) from within another profile.\n"                               \
    "\n"                                                                                                               \
    "Example\n"                                                                                                        \
    "-------\n"                                                                                                        \
    ">>> import numpy, smemkit\n"                                                                                      \
    ">>> kernel = smemkit.RawKernel(\"\"\"\n"                                                                          \
    "... .version 7.0\n"                                                                                               \
    "... .target sm_75\n"                                                                                              \
    "... .address_size 64\n"                                                                                           \
    "... .visible .entry store(.param .u64 to)\n"                                                                      \
    "... {\n"                                                                                                          \
    "...     .reg .b32 %r<2>;\n"                                                                                       \
    "...     .reg .b64 %rd<4>;\n"                                                                                      \
    "...     ld.param.u64 %rd1, [to];\n"                                                                               \
    "...     mov.u32 %r1, %tid.x;\n"                                                                                   \
    "...     cvta.to.global.u64 %rd1, %rd1;\n"                                                                         \
    "...     mul.wide.u32 %rd2, %r1, 4;\n"                                                                             \
    "...     add.s64 %rd3, %rd1, %rd2;\n"                                                                              \
    "...     st.global.u32 [%rd3], %r1;\n"                                                                             \
    "...     ret;\n"                                                                                                   \
    "... }\n"                                                                                                          \
    "... \"\"\", \"store\")\n"                                                                                         \
    ">>> out = numpy.zeros(64, dtype=\"uint32\")\n"                                                                    \
    ">>> report = kernel.profile(1, 64, (out,))\n"                                                                     \
    ">>> report.counters[\"global.store.requests\"], report.counters[\"global.store.sectors\"]\n"                      \
    "(2, 8)\n"

#define SMK_DOCS_KERNEL_CHECK                                                                                          \
    "check($self, /, grid, block, args, *, shared_mem=0, backend=None, max_steps=None, blocks=None, "                  \
    "ignore_same_value=False, order='forward', padding=0)\n"                                                           \
    "--\n"                                                                                                             \
    "\n"                                                                                                               \
    "Runs the kernel on the simulator and judges what its threads do; smemkit.check(kernel, grid, block, args).\n"     \
    "\n"                                                                                                               \
    "Parameters\n"                                                                                                     \
    "----------\n"                                                                                                     \
    "grid, block, args, shared_mem, max_steps\n"                                                                       \
    "    As for a call of the kernel.\n"                                                                               \
    "backend : None\n"                                                                                                 \
    "    There is no other machine that can.\n"                                                                        \
    "blocks : int, optional\n"                                                                                         \
    "    Runs only so many blocks, evenly spread over the grid; results are then incomplete.\n"                        \
    "ignore_same_value : bool\n"                                                                                       \
    "    Leaves out races of stores that all write one value; the report counts them as ignored.\n"                    \
    "order : {'forward', 'reverse', 'both'}\n"                                                                         \
    "    Which blocks and warps begin; 'both' runs it twice, first in reverse on copies of the arrays.\n"              \
    "padding : int\n"                                                                                                  \
    "    Bytes that are kept free between shared variables, and behind arrays.\n"                                      \
    "\n"                                                                                                               \
    "Returns\n"                                                                                                        \
    "-------\n"                                                                                                        \
    "CheckReport, true where nothing was found.\n"                                                                     \
    "\n"                                                                                                               \
    "Raises\n"                                                                                                         \
    "------\n"                                                                                                         \
    "As a call of the kernel, but for what check looks for (smemkit.check has the kinds): that is a finding.\n"        \
    "Where nothing was found, a trap, a failed assert and endless waits raise TrapError and DeadlockError.\n"          \
    "\n"                                                                                                               \
    "Example\n"                                                                                                        \
    "-------\n"                                                                                                        \
    ">>> import numpy, smemkit\n"                                                                                      \
    ">>> kernel = smemkit.RawKernel(\"\"\"\n"                                                                          \
    "... .version 7.0\n"                                                                                               \
    "... .target sm_75\n"                                                                                              \
    "... .address_size 64\n"                                                                                           \
    "... .visible .entry store(.param .u64 to)\n"                                                                      \
    "... {\n"                                                                                                          \
    "...     .reg .b32 %r<2>;\n"                                                                                       \
    "...     .reg .b64 %rd<4>;\n"                                                                                      \
    "...     ld.param.u64 %rd1, [to];\n"                                                                               \
    "...     mov.u32 %r1, %tid.x;\n"                                                                                   \
    "...     cvta.to.global.u64 %rd1, %rd1;\n"                                                                         \
    "...     mul.wide.u32 %rd2, %r1, 4;\n"                                                                             \
    "...     add.s64 %rd3, %rd1, %rd2;\n"                                                                              \
    "...     st.global.u32 [%rd3], %r1;\n"                                                                             \
    "...     ret;\n"                                                                                                   \
    "... }\n"                                                                                                          \
    "... \"\"\", \"store\")\n"                                                                                         \
    ">>> bool(kernel.check(1, 64, (numpy.zeros(64, dtype=\"uint32\"),)))\n"                                            \
    "True\n"                                                                                                           \
    ">>> [finding.kind for finding in kernel.check(1, 64, (numpy.zeros(60, dtype=\"uint32\"),)).findings]\n"           \
    "['out_of_bounds']\n"

#endif
