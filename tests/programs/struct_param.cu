// A struct passed by value: arrays inside it, mixed alignments, a nested struct, a pointer.
// Exercises ld.param at offsets, and at run-time offsets (a parameter read by index).

struct point {
    float x, y;
};

struct options {
    char kind;
    short weights[5];
    double scale;
    int table[7];
    point corner[3];
    unsigned char last;
    const int *extra;
};

extern "C" __global__ void struct_param(options o, double *out, int count, point shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    double value = o.kind == 'a' ? o.scale : -o.scale;
    value += o.weights[i % 5] * 1000.0;
    value += o.table[(i * 3) % 7];
    value += o.corner[i % 3].x * 0.5 + o.corner[(i + 1) % 3].y * 0.25;
    value += o.last + o.extra[i % 4];
    out[i] = value + shift.x - shift.y;
}
