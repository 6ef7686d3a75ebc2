/* Docstrings of limits, occupancy and suggest_block. */
#ifndef SMK_PY_LIMITS_DOCS_H
#define SMK_PY_LIMITS_DOCS_H

#define SMK_DOCS_LIMITS                                                                                                \
    "limits(compute_capability=None)\n--\n\n"                                                                          \
    "What a multiprocessor of a compute capability holds, from NVIDIA's table.\n\n"                                    \
    "Parameters\n----------\n"                                                                                         \
    "compute_capability : str or tuple of two ints, optional\n"                                                        \
    "    \"9.0\" or (9, 0), 3.0 to 12.1; by default the present machine's (the simulator's is 9.0).\n\n"               \
    "Shapes\n------\nNone.\n\n"                                                                                        \
    "Returns\n-------\n"                                                                                               \
    "dict, under the names of device_info where it knows the fact too: threads of a block; threads, warps, blocks,\n"  \
    "registers (32 bits) and shared bytes of a multiprocessor; registers of a block and of a thread; shared bytes "    \
    "of\n"                                                                                                             \
    "a block, with opt-in, and those that the driver takes of each block; the units in which registers (of a warp),\n" \
    "warps and shared bytes are given; the sizes of the shared part of the L1 storage. \"kernels\" says whether "      \
    "this\n"                                                                                                           \
    "package has kernels for it (from 7.5 up; older rows are for reading), \"source\" where the row comes from, and\n" \
    "\"differences\", where the present machine has that compute capability, in which facts its own query differs:\n"  \
    "{name: (table, device)}, which also gives a RuntimeWarning where it is not empty.\n\n"                            \
    "Raises\n------\n"                                                                                                 \
    "ArgumentError (ValueError) for one that is not in the table, ArgumentTypeError (TypeError), BackendError.\n\n"    \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> facts = smemkit.limits(\"8.6\")\n"                                                                            \
    ">>> facts[\"threads_per_multiprocessor_max\"], facts[\"shared_bytes_per_block_optin\"] // 1024\n"                 \
    "(1536, 99)\n"

#define SMK_DOCS_USE_PARAMETERS                                                                                        \
    "compute_capability : str or tuple of two ints, optional\n"                                                        \
    "    \"9.0\" or (9, 0); by default the present machine's (the simulator's is 9.0).\n"                              \
    "dtype : numpy.dtype or what makes one, optional\n"                                                                \
    "    Of a variant; by default the first that it takes.\n"                                                          \
    "choice : str, optional\n"                                                                                         \
    "    Of a variant whose family compiles a choice in (the op of reduce).\n"                                         \
    "registers : int, optional\n"                                                                                      \
    "    Of a thread, in the place of what is known: on a GPU of that compute capability the loaded kernel's; else\n"  \
    "    for the package's kernels what ptxas used when they were built; else what a ptxas that is found uses.\n"

#define SMK_DOCS_OCCUPANCY                                                                                             \
    "occupancy(kernel, block=None, shared_bytes=None, compute_capability=None, *, dtype=None, choice=None, "           \
    "registers=None)\n--\n\n"                                                                                          \
    "How many blocks of a kernel a multiprocessor holds at once, and what limits them.\n\n"                            \
    "Parameters\n----------\n"                                                                                         \
    "kernel : RawKernel, str or tuple\n"                                                                               \
    "    One of your own, or \"gemm/tiled\", or (family, variant) or (family, variant, dtype).\n"                      \
    "block : int or tuple of 1 to 3 ints\n"                                                                            \
    "    Threads of a block; by default a variant's own.\n"                                                            \
    "shared_bytes : int, optional\n"                                                                                   \
    "    Dynamic shared memory of a block; static shared memory is the kernel's. By default what a variant asks for\n" \
    "    (conv2d/shared: for a filter of one weight), and none for a kernel of your own.\n" SMK_DOCS_USE_PARAMETERS    \
    "\nShapes\n------\nNone.\n\n"                                                                                      \
    "Returns\n-------\n"                                                                                               \
    "Occupancy, a named tuple: blocks, warps and threads resident on a multiprocessor (0: a block does not run);\n"    \
    "percent, of the warps that it can hold; limited_by, the names of the limits that are reached; limits, a dict\n"   \
    "of the blocks that each admits (threads, blocks, registers, shared_memory, barriers; None: any number);\n"        \
    "registers of a thread and block_registers that a block is given; shared_bytes that a block asks for, static\n"    \
    "and dynamic, and block_shared_bytes that it is given, rounded up and with the driver's own; spare_shared_bytes\n" \
    "that it could ask for more without a loss of blocks; carveout_bytes, the smallest shared part of the L1\n"        \
    "storage that holds the blocks; compute_capability.\n\n"                                                           \
    "Raises\n------\n"                                                                                                 \
    "ArgumentError (ValueError) for an unknown variant or compute capability, and where the registers are not\n"       \
    "known; ArgumentTypeError (TypeError); LaunchError for a length below 1; BackendError.\n\n"                        \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> found = smemkit.occupancy(\"gemm/tiled\", (32, 32), compute_capability=\"8.6\", registers=40)\n"              \
    ">>> found.blocks, found.warps, round(found.percent), found.limited_by\n"                                          \
    "(1, 32, 67, ('threads', 'registers'))\n"

#define SMK_DOCS_SUGGEST_BLOCK                                                                                         \
    "suggest_block(kernel, shared_bytes=None, compute_capability=None, *, dtype=None, choice=None, registers=None, "   \
    "prefer=\"largest\")\n--\n\n"                                                                                      \
    "The block size with the best occupancy: the most resident threads.\n\n"                                           \
    "Parameters\n----------\n"                                                                                         \
    "kernel : RawKernel, str or tuple\n"                                                                               \
    "    One of your own, or \"gemm/tiled\", or (family, variant) or (family, variant, dtype).\n"                      \
    "shared_bytes : int or callable, optional\n"                                                                       \
    "    Dynamic shared memory of a block, or a function of the block size that gives it; by default as for\n"         \
    "    occupancy.\n" SMK_DOCS_USE_PARAMETERS "prefer : \"largest\" or \"smallest\"\n"                                \
    "    Which of equally good sizes; the CUDA runtime's calculator takes the largest.\n\n"                            \
    "Shapes\n------\nNone.\n\n"                                                                                        \
    "Returns\n-------\n"                                                                                               \
    "int: a multiple of 32, or the most threads that the kernel's launch bounds allow. (A kernel whose tile fixes\n"   \
    "its block must be launched with that one: its launch bounds say only what is the most.)\n\n"                      \
    "Raises\n------\n"                                                                                                 \
    "As occupancy; SharedMemoryError (MemoryError) where no block runs at all.\n\n"                                    \
    "Example\n-------\n"                                                                                               \
    ">>> import smemkit\n"                                                                                             \
    ">>> smemkit.suggest_block(\"gemm/tiled16\", registers=32, compute_capability=\"9.0\")\n"                          \
    "256\n"

#endif
