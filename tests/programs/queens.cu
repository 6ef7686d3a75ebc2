// Solutions of the n-queens problem, each thread from its own two first rows, by backtracking with its own stack.
// Exercises deep divergence, local memory as a stack, bit tricks.

extern "C" __global__ void queens(int n, int *solutions)
{
    int first = threadIdx.x / n, second = threadIdx.x % n;
    if (first >= n) {
        return;
    }
    unsigned int all = (1u << n) - 1, columns = 1u << first, left = columns << 1, right = columns >> 1;
    unsigned int bit = 1u << second;
    if (bit & (columns | left | right)) {
        return;
    }
    unsigned int stack[16][4];
    int depth = 0, found = 0;
    columns |= bit;
    left = (left | bit) << 1;
    right = (right | bit) >> 1;
    unsigned int free = all & ~(columns | left | right);
    if (n == 2) {
        return;
    }
    for (;;) {
        if (free == 0) {
            if (depth == 0) {
                break;
            }
            --depth;
            columns = stack[depth][0];
            left = stack[depth][1];
            right = stack[depth][2];
            free = stack[depth][3];
            continue;
        }
        bit = free & -free;
        free ^= bit;
        if ((columns | bit) == all) {
            ++found;
            continue;
        }
        stack[depth][0] = columns;
        stack[depth][1] = left;
        stack[depth][2] = right;
        stack[depth][3] = free;
        ++depth;
        columns |= bit;
        left = (left | bit) << 1;
        right = (right | bit) >> 1;
        free = all & ~(columns | left | right);
    }
    atomicAdd(solutions, found);
}
