// A byte-code machine a thread: a dense switch in a loop, and a stack in local memory.
// Exercises brx.idx with lanes that all go elsewhere, local memory with run-time indices.
// Compile with: --jump-table-density=10

extern "C" __global__ void switch_table(const unsigned char *code, const int *start, const int *input, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    unsigned int stack[16];
    for (int j = 0; j < 16; ++j) {
        stack[j] = 0;
    }
    int top = 0;
    int at = start[i];
    unsigned int accumulator = (unsigned int)input[i];
    for (int step = 0; step < 200; ++step) {
        unsigned int operation = code[at++];
        switch (operation) {
        case 0: out[i] = (int)accumulator; return;
        case 1: accumulator += code[at++]; break;
        case 2: accumulator -= code[at++]; break;
        case 3: accumulator *= code[at++]; break;
        case 4: stack[top++ & 15] = accumulator; break;
        case 5: accumulator ^= stack[--top & 15]; break;
        case 6: accumulator = accumulator << (code[at++] & 7); break;
        case 7: accumulator >>= 3; break;
        case 8: accumulator = ~accumulator; break;
        case 9: at += (accumulator & 1) ? code[at] + 1 : 1; break;
        case 10: accumulator = (int)accumulator < 0 ? 0u - accumulator : accumulator; break;
        case 11: accumulator += stack[(top - 1) & 15]; break;
        case 12: accumulator = (unsigned int)((int)accumulator % 1000003); break;
        default: accumulator = 0xffffffffu; break;
        }
    }
    out[i] = -2;
}
