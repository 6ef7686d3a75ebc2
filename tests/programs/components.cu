// Connected components of a graph by hooking and pointer jumping, a thread an edge, all in one launch of one block.
// Exercises chains of dependent global loads, atomicMin, loops that end by a vote of the block.

extern "C" __global__ void __launch_bounds__(256) components(const int *from, const int *to, int edges, int *label, int nodes)
{
    for (int i = threadIdx.x; i < nodes; i += blockDim.x) {
        label[i] = i;
    }
    __syncthreads(); // every node stands for itself
    int changed = 1;
    while (__syncthreads_or(changed)) {
        changed = 0;
        for (int e = threadIdx.x; e < edges; e += blockDim.x) {
            int a = ((volatile int *)label)[from[e]], b = ((volatile int *)label)[to[e]];
            if (a != b) {
                atomicMin(&label[a > b ? a : b], a < b ? a : b);
                changed = 1;
            }
        }
        __syncthreads(); // hooked before anyone jumps
        for (int i = threadIdx.x; i < nodes; i += blockDim.x) {
            int root = label[i];
            while (((volatile int *)label)[root] != root) {
                root = ((volatile int *)label)[root];
            }
            ((volatile int *)label)[i] = root;
        }
        __syncthreads(); // jumped before anyone hooks
    }
}
