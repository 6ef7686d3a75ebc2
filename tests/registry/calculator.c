/* NVIDIA's calculator of occupancy (cuda_occupancy.h of a CUDA toolkit) for lines of numbers: what ours is held to. */
#include <cuda_occupancy.h>
#include <stdio.h>

int main(void)
{
    int major, minor, threads_sm, registers_sm, registers_block, threads, registers, barriers;
    long long shared_sm, optin, reserved, fixed, dynamic;
    while (scanf("%d %d %d %d %d %lld %lld %lld %d %d %d %lld %lld", &major, &minor, &threads_sm, &registers_sm,
                 &registers_block, &shared_sm, &optin, &reserved, &threads, &registers, &barriers, &fixed,
                 &dynamic) == 13) {
        cudaOccDeviceProp device = {0};
        cudaOccFuncAttributes kernel = {0};
        cudaOccDeviceState state = {0};
        cudaOccResult result = {0};
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = threads_sm;
        device.regsPerBlock = registers_block;
        device.regsPerMultiprocessor = registers_sm;
        device.warpSize = 32;
        device.sharedMemPerBlock = 48 * 1024;
        device.sharedMemPerMultiprocessor = (size_t)shared_sm;
        device.numSms = 1;
        device.sharedMemPerBlockOptin = (size_t)optin;
        device.reservedSharedMemPerBlock = (size_t)reserved;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = (size_t)fixed;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = (size_t)(optin - fixed);
        kernel.numBlockBarriers = barriers;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
        cudaOccError code =
            cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, (size_t)dynamic);
        printf("%d %d %d %d %d %d %d\n", (int)code, result.activeBlocksPerMultiprocessor, result.blockLimitWarps,
               result.blockLimitBlocks, result.blockLimitRegs, result.blockLimitSharedMem, result.blockLimitBarriers);
    }
    return 0;
}
