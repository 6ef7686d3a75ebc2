/* Runs handlers of csrc/sim/exec/alu_general.c on a frame whose rows have poison (AddressSanitizer) around them, and prints
 * the row that each writes. In sources lane i holds a = 3 * i, b = 45, c = 7; lanes 0 to 15 run. */
#include "sim/exec/alu.h"
#include "sim/exec/convert.h"

#include <inttypes.h>
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <string.h>

enum { LANES = SMK_WARP_SIZE, PLACE = 512, GUARD = 0, A = PLACE, B = 2 * PLACE, C = 3 * PLACE, D = 4 * PLACE };

static _Alignas(64) unsigned char frame[6 * PLACE];

/* A row of 1 << storage bytes a lane. */
static void fill(unsigned place, unsigned storage, uint64_t first, uint64_t step)
{
    const size_t bytes = (size_t)1 << storage;
    __asan_unpoison_memory_region(frame + place, LANES * bytes);
    for (unsigned lane = 0; lane < LANES; lane++) {
        const uint64_t value = first + step * lane; /* its low bytes come first */
        memcpy(frame + place + lane * bytes, &value, bytes);
    }
}

static void fill_floats(unsigned place, float first, float step)
{
    fill(place, 2, 0, 0);
    for (unsigned lane = 0; lane < LANES; lane++) {
        const float value = first + step * (float)lane;
        memcpy(frame + place + lane * sizeof value, &value, sizeof value);
    }
}

static void run(const char *name, smk_handler handler, smk_alu_general word)
{
    smk_warp warp = {.registers = frame, .active = UINT32_C(0x0000ffff)};
    smk_operation op = {.d = D, .a = A, .b = B, .c = C, .d2 = GUARD, .guard = GUARD};
    memcpy(&op.u.immediate, &word, sizeof word);
    fill(D, word.to_storage, UINT64_MAX, 0);
    const smk_operation *next = handler(&warp, &op);
    printf("%s%s", name, next == &op + 1 ? "" : " went elsewhere");
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint64_t value = 0;
        memcpy(&value, frame + D + ((size_t)lane << word.to_storage), (size_t)1 << word.to_storage);
        printf(" %" PRIx64, value);
    }
    printf("\n");
    __asan_poison_memory_region(frame + A, sizeof frame - A);
}

static void fill_integers(unsigned storage)
{
    fill(A, storage, 0, 3);
    fill(B, storage, 45, 0);
    fill(C, storage, 7, 0);
}

int main(void)
{
    __asan_poison_memory_region(frame, sizeof frame);
    fill(GUARD, 2, UINT32_MAX, 0);
    fill_integers(2);
    run("u32_f64", smk_alu_convert, (smk_alu_general){SMK_TYPE_U32, SMK_TYPE_F64, 2, 3, SMK_ROUND_NEAREST, 0, 0, 0});
    fill_integers(1);
    run("u16_u64", smk_alu_convert, (smk_alu_general){SMK_TYPE_U16, SMK_TYPE_U64, 1, 3, SMK_ROUND_NEAREST, 0, 0, 0});
    fill_floats(A, 0, 3);
    fill_floats(B, 45, 0);
    run("f32_f16x2", smk_alu_convert_pair,
        (smk_alu_general){SMK_TYPE_F32, SMK_TYPE_F16X2, 2, 2, SMK_ROUND_NEAREST, 0, 0, 0});
    fill_integers(2);
    run("pack_u8", smk_alu_convert_packed,
        (smk_alu_general){SMK_TYPE_S32, SMK_TYPE_U8, 2, 2, SMK_ROUND_NEAREST, 0, 0, SMK_GENERAL_SAT});
    fill_integers(2);
    run("set_lt", smk_alu_set,
        (smk_alu_general){SMK_TYPE_U32, SMK_TYPE_U32, 2, 2, SMK_ROUND_NEAREST, SMK_ALU_BIT_LT, 0, 0});
    return 0;
}
