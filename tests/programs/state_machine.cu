// Control flow that no loop describes: jumps into the middle of one another, returns from the depth.
// Exercises reconvergence where the graph is irreducible, switches that fall through, short-circuit conditions.

extern "C" __global__ void state_machine(const int *in, int *out, int *trail, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    int value = in[i], steps = 0;
    unsigned int path = 0;
    if (value % 3 == 0) {
        goto halve;
    }
    if (value % 5 == 0 && (value & 4 || value > 500)) {
        goto grow;
    }
top:
    if (++steps > 60 || value == 1) {
        goto finish;
    }
    if (value % 2) {
        goto grow;
    }
halve:
    value /= 2;
    path = path * 3 + 1;
    if (value % 7 == 3) {
        goto finish;
    }
    switch (value % 4) {
    case 0: path ^= 5; // and on
    case 1: path += 2; break;
    case 2: goto top;
    default: if (steps < 10) { ++steps; goto halve; }
    }
    goto top;
grow:
    value = value * 3 + 1;
    path = path * 3 + 2;
    if (value > 100000) {
        out[i] = -value;
        trail[i] = (int)path;
        return;
    }
    if (value % 8 == 0) {
        goto halve;
    }
    goto top;
finish:
    out[i] = value * 100 + steps;
    trail[i] = (int)path;
}
