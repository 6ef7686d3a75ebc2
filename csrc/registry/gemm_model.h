/* How long the fast kernels of gemm take, by prediction: tiles, rounds of blocks, and bytes. */
#ifndef SMK_REGISTRY_GEMM_MODEL_H
#define SMK_REGISTRY_GEMM_MODEL_H

#include "registry/plan_gemm.h"

/* A row of gemm_tiles.def. */
typedef struct smk_gemm_tile {
    const char *variant, *part;
    size_t bytes; /* of the elements that it was measured with: for others k is cut into no parts */
    uint32_t threads;
    int64_t rows, columns, depth;
    size_t shared_bytes; /* 0 where k is cut into no parts: for a short k, and where nothing is staged */
    int64_t resident;
    double start, alone, busy, end;
    double odd_a, odd_b, turned; /* turned: -1 where it takes only operands whose rows lie side by side */
    double reads;
    double last, each; /* last: 0 where a launch adds the sums of parts */
    bool is_short;     /* k is staged in one step, or in two: smk_gemm_model_stage says how */
    double writes[2];  /* of rows of c of an even length, and of an odd one */
    bool begins_early; /* so do its launches */
} smk_gemm_tile;

/* What a block of a tile with is_short stages at once: so many k, a multiple of 4. */
typedef struct smk_gemm_stage {
    int64_t depth;
    size_t shared_bytes;
} smk_gemm_stage;

smk_gemm_stage smk_gemm_model_stage(const smk_request *request, const smk_gemm_tile *tile);

/* What a plan of tiles takes. */
typedef struct smk_gemm_choice {
    const smk_gemm_tile *tile;
    smk_gemm_parts parts;
    bool joins;     /* the last block of a tile adds the sums of its parts; else a launch does */
    double time_us; /* predicted, without what comes before the tiles */
} smk_gemm_choice;

/* The tile of the variant, and the parts of k, with the shortest predicted time. Parts are multiples of `step`,
 * or of the tile's depth where step is 0.
 * There is one part where the tiles were measured with other elements. tile is NULL where no grid holds the shape. */
smk_gemm_choice smk_gemm_model_choose(const smk_request *request, int64_t step);

/* The same among the tiles of the part "raw" alone, which take operands as they are, or among all but those. */
smk_gemm_choice smk_gemm_model_choose_kind(const smk_request *request, int64_t step, bool is_raw);

/* Notes in the plan what was chosen, for a kernel that takes stacks and layouts. */
void smk_gemm_model_note(const smk_gemm_choice *choice, smk_plan *plan);

/* LAUNCH where there is no tile. */
smk_status smk_gemm_model_check(const smk_request *request, smk_gemm_choice choice, smk_error *error);

/* The time that bytes of device memory take, and that of adding partial sums, in microseconds. */
double smk_gemm_model_bytes(const smk_request *request, double bytes);

/* That of bytes which take so many times as long on an H200, for more than its memory's sake: what is more goes with the
 * machine's multiprocessors. */
double smk_gemm_model_repeated(const smk_request *request, double bytes, double times);

/* How many times as long as those of an H200 all multiprocessors of the machine take for the variant's work. */
double smk_gemm_model_slower(const smk_request *request);
double smk_gemm_model_add(const smk_request *request, int64_t parts);

/* The time of a kernel of tiles that makes `speed` (a row's), where `efficiency` of it are elements of c: blocks go in
 * rounds over the multiprocessors. */
double smk_gemm_model_rate(const smk_request *request, int64_t blocks, double efficiency);

/* What rows that lie `stride` apart give less than 16 bytes at a time: 0 for multiples of four elements of 4 bytes, 1
 * for multiples of two, 2 for others, and where the elements of a row do not lie side by side. */
int smk_gemm_model_odd(int64_t stride, int64_t stride_along);

/* Bytes of the operands of the stack; one that all products share counts once. */
double smk_gemm_model_read(const smk_request *request);

#endif
