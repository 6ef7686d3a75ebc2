"""A program that reaches the CUDA driver by ctypes, one of whose launches fails or is refused."""

import ctypes
import sys

SOURCE = b"""
.version 8.0
.target sm_75
.address_size 64
.global .align 4 .u32 flag;
.visible .entry plain(.param .u64 unused)
{
    ret;
}
.visible .entry stop(.param .u64 unused)
{
    trap;
    ret;
}
.visible .entry hang(.param .u64 unused)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
AGAIN:
    ld.volatile.global.u32 %r1, [flag];
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    ret;
}
.visible .entry count(.param .u64 unused)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    mov.u32 %r1, 0;
AGAIN:
    add.u32 %r1, %r1, 1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    ret;
}
.visible .entry store(.param .u64 address)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [address];
    st.global.u32 [%rd1], 1;
    ret;
}
.extern .func (.param .b32 result) cudaLaunchDevice(.param .b64 a, .param .b64 b);
.visible .entry nest(.param .u64 unused)
{
    .param .b64 a;
    .param .b64 b;
    .param .b32 result;
    call.uni (result), cudaLaunchDevice, (a, b);
    ret;
}
"""
driver = ctypes.CDLL("libcuda.so.1")
module, function, context, address = (ctypes.c_void_p() for _ in range(4))
value = ctypes.c_uint64(64)
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(value))


def launch(name, threads=32, shared=0):
    """The code of a launch, or of what waits for it."""
    code = driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
    size = (1, 1, 1, threads, 1, 1)
    code = code or driver.cuLaunchKernel(function, *size, shared, None, parameters, None)
    return code or driver.cuCtxSynchronize()


driver.cuInit(0)
driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
driver.cuModuleLoadData(ctypes.byref(module), SOURCE)
kernel, threads = sys.argv[1], int(sys.argv[2])
assert launch("plain") == 0
print(launch(kernel, threads), launch("plain"), flush=True)
if len(sys.argv) > 3:
    ctypes.CDLL(None).abort()
