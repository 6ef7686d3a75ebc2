"""A program that reaches the CUDA driver by ctypes; "fault": launches have a block too many."""

import ctypes
import sys

SOURCE = b"""
.version 8.0
.target sm_75
.address_size 64
.global .align 4 .u32 step = 3;
.visible .entry advance(.param .u64 values, .param .u32 offset)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<8>;
    ld.param.u64 %rd1, [values];
    ld.param.u32 %r1, [offset];
    ld.global.u32 %r2, [step];
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %ctaid.x;
    mad.lo.u32 %r5, %r4, 32, %r3;
    mul.wide.u32 %rd2, %r5, 4;
    add.u64 %rd3, %rd1, %rd2;
    mad.lo.u32 %r6, %r5, %r2, %r1;
    st.global.u32 [%rd3], %r6;
    ret;
}
"""
COUNT = 64
driver = ctypes.CDLL("libcuda.so.1")
size, pointer, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int


def call(name, *arguments):
    """Calls a function of the driver by the address that the driver gives for it."""
    entry = pointer()
    found = number()
    driver.cuGetProcAddress_v2(
        name.encode(), ctypes.byref(entry), 13000, ctypes.c_uint64(0), ctypes.byref(found)
    )
    assert entry and found.value == 0, name
    return ctypes.CFUNCTYPE(number)(entry.value)(*arguments)


def must(name, *arguments):
    code = call(name, *arguments)
    text = ctypes.c_char_p()
    driver.cuGetErrorName(code, ctypes.byref(text))
    assert code == 0, (name, text.value)


def check_device():
    name, count, major = ctypes.create_string_buffer(64), number(), number()
    must("cuDeviceGetCount", ctypes.byref(count))
    must("cuDeviceGetName", name, 64, 0)
    must("cuDeviceGetAttribute", ctypes.byref(major), 75, 0)
    assert count.value == 1 and b"smemkit" in name.value and major.value == 9
    assert call("cuDeviceGetName", name, 64, 1) == 101
    files = number(1)  # an attribute that the driver alone has, of what is not here
    must("cuDeviceGetAttribute", ctypes.byref(files), 110, 0)
    assert files.value == 0
    entry, found = pointer(1), number()
    code = driver.cuGetProcAddress_v2(
        b"cuNothing", ctypes.byref(entry), 13000, 0, ctypes.byref(found)
    )
    assert code == 500 and found.value == 1 and not entry


def link(source):
    """Code that the driver links of two texts."""
    state, code, length = pointer(), pointer(), size()
    other = b".version 8.0\n.target sm_75\n.address_size 64\n.global .u32 unused;\n"
    must("cuLinkCreate", 0, None, None, ctypes.byref(state))
    for text in (source, other):
        must("cuLinkAddData", state, 1, text, size(len(text)), b"text", 0, None, None)
    must("cuLinkComplete", state, ctypes.byref(code), ctypes.byref(length))
    linked = ctypes.string_at(code, length.value)
    must("cuLinkDestroy", state)
    return linked


def check_missing():
    """What is not here refuses calls, and is not given out as an entry."""
    entry, found = pointer(), number()
    code = driver.cuGetProcAddress_v2(
        b"cuMulticastCreate", ctypes.byref(entry), 13000, 0, ctypes.byref(found)
    )
    assert code == 500 and found.value == 1 and not entry
    assert driver.cuMulticastCreate(None, None) == 801


class Properties(ctypes.Structure):
    """Of memory that is created: on the device, shared by a file."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("place", ctypes.c_int * 2),
        ("rest", ctypes.c_uint64 * 2),
    )


def check_mapping():
    """Two pieces of memory in one range, then one of them at another place, by its file."""
    wanted, unit, start, other = (
        Properties(1, 1, (1, 0)),
        size(),
        ctypes.c_uint64(),
        ctypes.c_uint64(),
    )
    must("cuMemGetAllocationGranularity", ctypes.byref(unit), ctypes.byref(wanted), 0)
    piece = unit.value
    must(
        "cuMemAddressReserve", ctypes.byref(start), size(2 * piece), size(0), ctypes.c_uint64(0), 0
    )
    handles = [ctypes.c_uint64() for _ in range(2)]
    for i, handle in enumerate(handles):
        must("cuMemCreate", ctypes.byref(handle), size(piece), ctypes.byref(wanted), 0)
        at = ctypes.c_uint64(start.value + i * piece)
        must("cuMemMap", at, size(piece), size(0), handle, 0)
    must("cuMemSetAccess", start, size(2 * piece), None, size(1))
    across = ctypes.c_uint64(start.value + piece - 8)
    must("cuMemsetD32", across, 77, size(4))
    must("cuMemUnmap", start, size(2 * piece))
    assert call("cuMemUnmap", start, size(2 * piece)) == 1
    file, imported = ctypes.c_int(), ctypes.c_uint64()
    must("cuMemExportToShareableHandle", ctypes.byref(file), handles[1], 1, ctypes.c_ulonglong(0))
    must("cuMemImportFromShareableHandle", ctypes.byref(imported), pointer(file.value), 1)
    must("cuMemAddressReserve", ctypes.byref(other), size(piece), size(0), ctypes.c_uint64(0), 0)
    must("cuMemMap", other, size(piece), size(0), imported, 0)
    out = (ctypes.c_uint32 * 3)()
    must("cuMemcpyDtoH", out, other, size(12))
    assert list(out) == [77, 77, 0]
    assert call("cuMemMap", other, size(piece), size(piece), imported, 0) == 1  # past its end
    must("cuMemUnmap", other, size(piece))
    for handle in (*handles, imported):
        must("cuMemRelease", handle)
    must("cuMemAddressFree", other, size(piece))
    must("cuMemAddressFree", start, size(2 * piece))
    assert call("cuMemAddressFree", start, size(2 * piece)) == 1


def launch_by_steps(function, memory, blocks):
    """As before CUDA 4: the function keeps what its launch takes."""
    must("cuFuncSetBlockShape", function, 32, 1, 1)
    must("cuFuncSetSharedSize", function, 16)
    must("cuParamSetSize", function, 12)
    must("cuParamSetv", function, 0, ctypes.byref(memory), 8)
    must("cuParamSeti", function, 8, 5)
    assert call("cuParamSetv", function, 4095, ctypes.byref(memory), 8) == 1
    must("cuLaunchGrid", function, blocks, 1)


def run(extra):
    """What the kernel writes; `extra`: its parameters lie in one buffer, or are set one by one."""
    module, function, memory = pointer(), pointer(), pointer()
    must("cuModuleLoadData", ctypes.byref(module), link(SOURCE))
    must("cuModuleGetFunction", ctypes.byref(function), module, b"advance")
    must("cuMemAlloc", ctypes.byref(memory), size(4 * COUNT))
    must("cuMemsetD32", memory, 7, size(COUNT))
    blocks = COUNT // 32 + (len(sys.argv) > 1 and sys.argv[1] == "fault")
    if extra == "steps":
        launch_by_steps(function, memory, blocks)
    elif extra:
        packed = (ctypes.c_uint64 * 2)(memory.value, 5)
        length = size(12)
        words = [1, ctypes.addressof(packed), 2, ctypes.addressof(length), 0]
        parameters, more = None, (pointer * 5)(*words)
    else:
        values = [ctypes.c_uint64(memory.value), ctypes.c_uint32(5)]
        parameters = (pointer * 2)(*(ctypes.addressof(value) for value in values))
        more = None
    if extra != "steps":
        must("cuLaunchKernel", function, blocks, 1, 1, 32, 1, 1, 0, None, parameters, more)
    must("cuCtxSynchronize")
    out = (ctypes.c_uint32 * COUNT)()
    must("cuMemcpyDtoH", out, memory, size(4 * COUNT))
    must("cuMemFree", memory)
    must("cuModuleUnload", module)
    return list(out)


class Copy(ctypes.Structure):
    """Of a box, from the device to the host."""

    _fields_ = (
        ("from_place", size * 4),
        ("from_kind", ctypes.c_uint64),
        ("from_host", pointer),
        ("from_device", pointer),
        ("from_rest", size * 4),
        ("to_place", size * 4),
        ("to_kind", ctypes.c_uint64),
        ("to_host", pointer),
        ("to_rest", size * 5),
        ("box", size * 3),
    )


class Launch(ctypes.Structure):
    """Of a kernel: its function, grid, block and shared bytes, and where its parameters lie."""

    _fields_ = (
        ("function", pointer),
        ("shape", ctypes.c_uint * 8),
        ("parameters", pointer),
        ("rest", pointer * 3),
    )


def check_graph():
    """A kernel, a fill and a copy as nodes of a graph that is changed once it can be launched."""
    module, function, memory = pointer(), pointer(), pointer()
    graph, exec_, count, kind = pointer(), pointer(), size(), number()
    nodes = [pointer() for _ in range(3)]
    out = (ctypes.c_uint32 * COUNT)()
    must("cuModuleLoadData", ctypes.byref(module), SOURCE)
    every = (pointer * 2)()  # there is one
    name = ctypes.c_char_p()
    must("cuModuleEnumerateFunctions", every, 2, module)
    must("cuFuncGetName", ctypes.byref(name), pointer(every[0]))
    assert name.value == b"advance" and every[1] is None
    must("cuModuleGetFunction", ctypes.byref(function), module, b"advance")
    must("cuMemAlloc", ctypes.byref(memory), size(4 * COUNT))
    values = [ctypes.c_uint64(memory.value), ctypes.c_uint32(5)]
    parameters = (pointer * 2)(*(ctypes.addressof(value) for value in values))
    launch = Launch(function, (1, 1, 1, 32, 1, 1, 0), ctypes.addressof(parameters))
    words = [memory.value, 0, 9 | 4 << 32, COUNT, 1, 0]  # pitch 0; words of 4 bytes are 9
    fill = (ctypes.c_uint64 * 6)(*words)
    copy = Copy(from_kind=2, from_device=memory, to_kind=1, box=(4 * COUNT, 1, 1))
    copy.to_host = ctypes.addressof(out)
    must("cuGraphCreate", ctypes.byref(graph), 0)
    must("cuGraphAddMemsetNode", ctypes.byref(nodes[0]), graph, None, size(0), fill, None)
    arguments = ctypes.byref(nodes[0]), size(1), ctypes.byref(launch)
    must("cuGraphAddKernelNode", ctypes.byref(nodes[1]), graph, *arguments)
    arguments = ctypes.byref(nodes[1]), size(1), ctypes.byref(copy), None
    must("cuGraphAddMemcpyNode", ctypes.byref(nodes[2]), graph, *arguments)
    known = Copy()
    must("cuGraphMemcpyNodeGetParams", nodes[2], ctypes.byref(known))
    assert (known.from_kind, known.from_device, known.to_kind) == (2, memory.value, 1)
    assert known.to_host == copy.to_host and list(known.box) == [4 * COUNT, 1, 1]
    assert call("cuGraphMemcpyNodeGetParams", nodes[1], ctypes.byref(known)) == 1
    must("cuGraphMemcpyNodeSetParams", nodes[2], ctypes.byref(known))  # as it is
    must("cuGraphGetNodes", graph, None, ctypes.byref(count))
    must("cuGraphNodeGetType", nodes[2], ctypes.byref(kind))
    assert count.value == 3 and kind.value == 1
    must("cuGraphInstantiate", ctypes.byref(exec_), graph, ctypes.c_ulonglong(0))
    must("cuGraphLaunch", exec_, None)
    must("cuCtxSynchronize")
    assert list(out) == [3 * i + 5 if i < 32 else 9 for i in range(COUNT)]
    packed, length = (ctypes.c_uint64 * 2)(memory.value, 7), size(12)  # in one buffer
    buffer = (1, ctypes.addressof(packed), 2, ctypes.addressof(length), 0)
    extra = (pointer * 5)(*buffer)
    launch.parameters, launch.rest[0] = None, ctypes.addressof(extra)
    must("cuGraphExecKernelNodeSetParams", exec_, nodes[1], ctypes.byref(launch))
    fill[2] = 8 | 4 << 32
    must("cuGraphExecMemsetNodeSetParams", exec_, nodes[0], fill, None)
    copy.box[0] = 4 * 33
    must("cuGraphExecMemcpyNodeSetParams", exec_, nodes[2], ctypes.byref(copy), None)
    must("cuGraphLaunch", exec_, None)
    must("cuCtxSynchronize")
    assert list(out) == [3 * i + 7 if i < 32 else 8 if i == 32 else 9 for i in range(COUNT)]
    assert call("cuGraphMemcpyNodeSetParams", nodes[1], ctypes.byref(copy)) == 1
    must("cuGraphExecDestroy", exec_)
    must("cuGraphDestroy", graph)
    must("cuMemFree", memory)
    must("cuModuleUnload", module)


class Allocation(ctypes.Structure):
    """Memory of a graph: its properties, bytes and address."""

    _fields_ = (
        ("properties", Properties),
        ("rest", ctypes.c_uint64 * 7),
        ("accesses", size * 2),
        ("bytes", size),
        ("address", ctypes.c_uint64),
    )


def check_graph_memory():
    """What nodes that allocate and free say of it."""
    graph, made, freed = pointer(), pointer(), pointer()
    wanted, known, address = Allocation(bytes=4096), Allocation(), ctypes.c_uint64()
    wanted.properties = Properties(1, 0, (1, 0))
    must("cuGraphCreate", ctypes.byref(graph), 0)
    must("cuGraphAddMemAllocNode", ctypes.byref(made), graph, None, size(0), ctypes.byref(wanted))
    at = ctypes.c_uint64(wanted.address)
    must("cuGraphAddMemFreeNode", ctypes.byref(freed), graph, ctypes.byref(made), size(1), at)
    must("cuGraphMemAllocNodeGetParams", made, ctypes.byref(known))
    assert wanted.address != 0 and (known.bytes, known.address) == (4096, wanted.address)
    assert known.properties.kind == 1 and list(known.properties.place) == [1, 0]
    assert call("cuGraphMemAllocNodeGetParams", freed, ctypes.byref(known)) == 1
    must("cuGraphMemFreeNodeGetParams", freed, ctypes.byref(address))
    assert address.value == wanted.address
    must("cuGraphDestroy", graph)


def check_own_default_streams():
    """A program that is compiled for a default stream per thread calls functions by other names."""
    module, function, memory = pointer(), pointer(), pointer()
    out = (ctypes.c_uint32 * 32)()
    must("cuModuleLoadData", ctypes.byref(module), SOURCE)
    must("cuModuleGetFunction", ctypes.byref(function), module, b"advance")
    must("cuMemAlloc", ctypes.byref(memory), size(128))
    values = [ctypes.c_uint64(memory.value), ctypes.c_uint32(5)]
    parameters = (pointer * 2)(*(ctypes.addressof(value) for value in values))
    own = {
        "cuMemsetD32_v2_ptds": (memory, 7, size(32)),
        "cuMemcpyHtoDAsync_v2_ptsz": (memory, out, size(64), None),
        "cuLaunchKernel_ptsz": (function, 1, 1, 1, 32, 1, 1, 0, None, parameters, None),
        "cuStreamSynchronize_ptsz": (None,),
        "cuMemcpyDtoH_v2_ptds": (out, memory, size(128)),
    }
    for name, arguments in own.items():
        assert getattr(driver, name)(*arguments) == 0, name
    assert list(out) == [3 * i + 5 for i in range(32)]
    must("cuMemFree", memory)
    must("cuModuleUnload", module)


class Operation(ctypes.Structure):
    """A member of a batch of words that a stream writes and waits for."""

    _fields_ = (
        ("kind", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("value", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 3),
    )


def check_words():
    """A stream writes words of memory, and waits for words that are there, or not yet."""
    stream, memory, words = pointer(), pointer(), (ctypes.c_uint64 * 4)()
    must("cuStreamCreate", ctypes.byref(stream), 1)
    must("cuMemAlloc", ctypes.byref(memory), size(32))
    must("cuMemsetD8", memory, ctypes.c_ubyte(0), size(32))
    at = [ctypes.c_uint64(memory.value + i) for i in range(32)]
    wide = ctypes.c_uint64(0x123456789ABCDEF)
    must("cuStreamWriteValue32", stream, at[4], ctypes.c_uint32(0x80000001), 0)
    must("cuStreamWriteValue64", stream, at[8], wide, 1)
    batch = (Operation * 4)(
        (2, at[16].value, 7), (6,), (5, at[24].value, wide.value), (1, at[16].value, 7)
    )
    must("cuStreamBatchMemOp", stream, 4, batch, 0)
    must("cuMemcpyDtoH", words, memory, size(32))
    assert list(words) == [0x80000001 << 32, wide.value, 7, wide.value]
    # greater, equal, one bit of both, one bit of neither: each as it is, then as it is not
    for flags, yes, no in (
        (0, 6, 8),
        (1, 7, 6),
        (2, 4, 8),
        (3, 0, 0xFFFFFFFF),
        (0, -(2**31) + 8, 9),
    ):
        must("cuStreamWaitValue32", stream, at[16], ctypes.c_uint32(yes), flags)
        assert call("cuStreamWaitValue32", stream, at[16], ctypes.c_uint32(no), flags) == 801
    must("cuStreamWaitValue64", stream, at[8], wide, 1)
    assert call("cuStreamWaitValue64", stream, at[8], ctypes.c_uint64(wide.value + 1), 0) == 801
    assert call("cuStreamWaitValue32", stream, at[17], ctypes.c_uint32(0), 0) == 1
    assert call("cuStreamWriteValue32", stream, at[16], ctypes.c_uint32(0), 2) == 1
    must("cuStreamDestroy", stream)
    must("cuMemFree", memory)


def check_nodes():
    """A graph by capture that is asked for, and nodes of any kind that join what was captured."""
    module, function, memory = pointer(), pointer(), pointer()
    stream, graph, exec_, copied = pointer(), pointer(), pointer(), pointer()
    state, count, node = number(), size(), pointer()
    out, nodes = (ctypes.c_uint32 * COUNT)(), ctypes.POINTER(pointer)()
    must("cuModuleLoadData", ctypes.byref(module), SOURCE)
    must("cuModuleGetFunction", ctypes.byref(function), module, b"advance")
    must("cuMemAlloc", ctypes.byref(memory), size(4 * COUNT))
    must("cuStreamCreate", ctypes.byref(stream), 1)
    must("cuStreamBeginCapture", stream, 0)
    must("cuMemsetD32Async", memory, ctypes.c_uint32(9), size(COUNT), stream)
    asked = [ctypes.byref(x) for x in (state, ctypes.c_uint64(), graph, nodes)]
    must("cuStreamGetCaptureInfo", stream, *asked, None, ctypes.byref(count))
    assert (state.value, count.value) == (1, 1)
    values = [ctypes.c_uint64(memory.value), ctypes.c_uint32(5)]
    parameters = (pointer * 2)(*(ctypes.addressof(value) for value in values))
    facts = (ctypes.c_ubyte * 256)()  # of a kernel that is given in place of a function
    launch = Launch(None, (1, 1, 1, 32, 1, 1, 0), ctypes.addressof(parameters), (None, function))
    ctypes.memmove(ctypes.addressof(facts) + 16, ctypes.byref(launch), ctypes.sizeof(launch))
    must("cuGraphAddNode", ctypes.byref(node), graph, nodes, None, size(1), facts)
    must("cuStreamUpdateCaptureDependencies", stream, ctypes.byref(node), None, size(1), 1)
    must("cuStreamEndCapture", stream, ctypes.byref(graph))
    known = Launch()
    must("cuGraphKernelNodeGetParams", node, ctypes.byref(known))
    assert known.function == function.value and known.shape[:7] == [1, 1, 1, 32, 1, 1, 0]
    copy = Copy(from_kind=2, from_device=memory, to_kind=1, box=(4 * COUNT, 1, 1))
    copy.to_host = ctypes.addressof(out)
    facts = (ctypes.c_ubyte * 256)(1)
    ctypes.memmove(ctypes.addressof(facts) + 32, ctypes.byref(copy), ctypes.sizeof(copy))
    must("cuGraphAddNode", ctypes.byref(copied), graph, ctypes.byref(node), None, size(1), facts)
    must("cuGraphInstantiate", ctypes.byref(exec_), graph, ctypes.c_ulonglong(0))
    must("cuGraphLaunch", exec_, stream)
    assert list(out) == [3 * i + 5 if i < 32 else 9 for i in range(COUNT)]
    copy.box[0] = 4
    ctypes.memmove(ctypes.addressof(facts) + 32, ctypes.byref(copy), ctypes.sizeof(copy))
    must("cuGraphExecNodeSetParams", exec_, copied, facts)
    values[1].value = 8
    facts = (ctypes.c_ubyte * 256)()
    ctypes.memmove(ctypes.addressof(facts) + 16, ctypes.byref(launch), ctypes.sizeof(launch))
    must("cuGraphExecNodeSetParams", exec_, node, facts)
    must("cuGraphLaunch", exec_, stream)
    assert out[:3] == [8, 8, 11]
    must("cuGraphExecDestroy", exec_)
    must("cuGraphDestroy", graph)
    must("cuStreamDestroy", stream)
    grid, block = number(), number()
    wanted = ctypes.byref(grid), ctypes.byref(block), function, None, size(0)
    must("cuOccupancyMaxPotentialBlockSize", *wanted, 0)
    assert (grid.value, block.value) == (264, 1024)
    must("cuOccupancyMaxPotentialBlockSize", *wanted, 200)
    assert (grid.value, block.value) == (132 * 16, 128)
    must("cuMemFree", memory)
    must("cuModuleUnload", module)


def main():
    context, current = pointer(), pointer()
    must("cuInit", 0)
    check_device()
    must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    must("cuCtxSetCurrent", context)
    must("cuCtxGetCurrent", ctypes.byref(current))
    assert context.value == current.value
    check_missing()
    check_mapping()
    check_graph()
    check_graph_memory()
    check_own_default_streams()
    check_words()
    check_nodes()
    for extra in (False, True, "steps"):
        assert run(extra) == [3 * i + 5 for i in range(COUNT)]
    print("right")


if __name__ == "__main__":
    main()
