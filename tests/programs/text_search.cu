// Occurrences of a short pattern in a text, and the longest common prefix of every suffix with the pattern.
// Exercises byte loads at every alignment, inner loops that break, 16-bit stores, signed characters.

extern "C" __global__ void text_search(const char *text, int length, const char *pattern, int pattern_length, unsigned short *prefix,
                                       int *matches)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length) {
        return;
    }
    int same = 0;
    while (same < pattern_length && i + same < length) {
        char wanted = pattern[same];
        if (wanted != '?' && wanted != text[i + same]) {
            break;
        }
        ++same;
    }
    prefix[i] = (unsigned short)same;
    if (same == pattern_length) {
        atomicAdd(matches, 1);
    }
}
