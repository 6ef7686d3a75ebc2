/* How long the fast kernels of gemm take, by prediction: tiles, rounds of blocks, and bytes. */
#ifndef SMK_REGISTRY_GEMM_MODEL_H
#define SMK_REGISTRY_GEMM_MODEL_H

#include "registry/plan_gemm.h"

/* What a tile asks of the call, or takes for it. */
typedef enum smk_gemm_kind {
    SMK_GEMM_ANY,   /* nothing; `turned` below may want operands whose rows lie side by side */
    SMK_GEMM_SHORT, /* k is staged in one step, or in two: shared_bytes is 0, and smk_gemm_model_stage says how */
    SMK_GEMM_ALONG, /* rows of both operands lie side by side */
    SMK_GEMM_WIDE,  /* and four neighbours of a row of b at a multiple of 16 bytes */
    SMK_GEMM_QUADS, /* and of a row of a too */
    SMK_GEMM_ROWS   /* as ALONG; for few rows: a block stages all its k of a */
} smk_gemm_kind;

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
    smk_gemm_kind kind;
    double writes[2];  /* of rows of c of an even length, and of an odd one */
    bool begins_early; /* its kernels wait for the launches before them: these may still run */
    bool is_lean;      /* of lean */
    bool cuts_ahead;   /* a step's numbers are cut while the one before it is multiplied */
} smk_gemm_tile;

/* What a block of a tile for a short k stages at once: so many k, a multiple of 4. */
typedef struct smk_gemm_stage {
    int64_t depth;
    size_t shared_bytes;
} smk_gemm_stage;

smk_gemm_stage smk_gemm_model_stage(const smk_request *request, const smk_gemm_tile *tile);

/* Elements of float64 of a sector of 32 bytes. */
enum { SMK_GEMM_SECTOR = 4 };

/* Bytes of the L2 cache of an H200, and of a matrix that it still holds when the next call reads it. */
enum { SMK_GEMM_CACHE = 50 << 20, SMK_GEMM_CACHED = SMK_GEMM_CACHE / 2 };

/* Whether a warp of the tile takes every fourth row of c, and columns from where a sector begins: a block may begin left
 * of c by all but one of its elements (gemm/unstaged.cu). */
bool smk_gemm_model_is_apart(const smk_gemm_tile *tile);

/* Dynamic shared memory of a block that has so many k. */
size_t smk_gemm_model_shared(const smk_request *request, const smk_gemm_tile *tile, int64_t part_k);

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

/* Whether a launch of the tile gains by that: of float64 each, of others where its blocks are few, or fill the machine. */
bool smk_gemm_model_begins_early(const smk_request *request, const smk_gemm_tile *tile, smk_gemm_parts parts);

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
