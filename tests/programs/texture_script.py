"""What the texture units of a driver's device give.

    python texture_script.py GROUP OUT

It runs the cases of a group through libcuda.so.1 and writes their words as JSON: the same program
on the simulator (`smemkit run`) and on a GPU.
"""

import ctypes
import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import texture_case  # noqa: E402  (these lie beside this file)
import texture_script_cases as cases  # noqa: E402

driver = ctypes.CDLL("libcuda.so.1")
pointer, number, size, word64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_uint64
FORMATS = {"u1": 1, "u2": 2, "u4": 3, "i1": 8, "i2": 9, "i4": 10, "f2": 16, "f4": 32}
LAYERED, SURFACE, CUBE, GATHER = 1, 2, 4, 8


class DriverError(Exception):
    """A call that failed, by its number."""


def must(name, *arguments):
    code = getattr(driver, name)(*arguments)
    if code != 0:
        raise DriverError(name, code)


class ArrayFacts(ctypes.Structure):
    _fields_ = [("extent", size * 3), ("format", number), ("channels", number), ("flags", number)]


class End(ctypes.Structure):
    _fields_ = [
        ("at", size * 4),
        ("kind", number),
        ("host", pointer),
        ("device", word64),
        ("array", pointer),
        ("reserved", pointer),
        ("pitch", size),
        ("height", size),
    ]


class Copy(ctypes.Structure):
    _fields_ = [("source", End), ("target", End), ("extent", size * 3)]


class Sampling(ctypes.Structure):
    _fields_ = [
        ("mode", number * 3),
        ("filter", number),
        ("flags", number),
        ("anisotropy", number),
        ("level_filter", number),
        ("bias", ctypes.c_float),
        ("least", ctypes.c_float),
        ("most", ctypes.c_float),
        ("border", ctypes.c_float * 4),
        ("reserved", number * 12),
    ]


class Resource(ctypes.Structure):
    _fields_ = [("kind", number), ("words", word64 * 16), ("flags", number)]


def make_words(count, seed):
    """Pseudo-random words, the same everywhere."""
    out, state = [], seed
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(state >> 32)
    return out


def make_texels(case, count):
    """Bytes of `count` channels."""
    kind = case["format"]
    words = make_words(count, 99)
    if kind == "f4":
        return b"".join(struct.pack("<f", word / 2**30 - 2) for word in words)
    if kind == "f2":
        return b"".join(struct.pack("<e", word / 2**30 - 2) for word in words)
    return b"".join(struct.pack("<I", word)[4 - int(kind[1]) :] for word in words)


def fill(array, case, extent, flags):
    """Texels of an array, or of a level of one."""
    width, height, depth = (max(1, n) for n in extent)
    pitch = width * case["channels"] * int(case["format"][1])
    texels = make_texels(case, width * height * depth * case["channels"])
    copy = Copy(extent=(pitch, height, depth))
    copy.source.kind, copy.target.kind, copy.target.array = 1, 3, array
    held = ctypes.create_string_buffer(texels, len(texels))
    copy.source.host = ctypes.addressof(held)
    copy.source.pitch, copy.source.height = pitch, height
    must("cuMemcpy3D_v2", ctypes.byref(copy))


def read_back(array, case):
    width, height, depth = (max(1, n) for n in case["extent"])
    pitch = width * case["channels"] * int(case["format"][1])
    held = ctypes.create_string_buffer(pitch * height * depth)
    copy = Copy(extent=(pitch, height, depth))
    copy.source.kind, copy.target.kind, copy.source.array = 3, 1, array
    copy.target.host = ctypes.addressof(held)
    copy.target.pitch, copy.target.height = pitch, height
    must("cuMemcpy3D_v2", ctypes.byref(copy))
    data = held.raw + bytes(-len(held.raw) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def make_resource(case):
    """A resource, and the array that it is."""
    flags = sum(
        {"layered": LAYERED, "cube": CUBE, "surface": SURFACE, "gather": GATHER}[word]
        for word in case["flags"]
    )
    facts = ArrayFacts(
        (size * 3)(*case["extent"]), FORMATS[case["format"]], case["channels"], flags
    )
    array = pointer()
    if case["memory"]:
        width, height = case["extent"][:2]
        row = width * case["channels"] * int(case["format"][1])
        pitch = row if case["memory"] == "linear" else -(-row // 512) * 512
        memory, rows = word64(), max(1, height)
        must("cuMemAlloc_v2", ctypes.byref(memory), size(pitch * rows))
        texels = make_texels(case, pitch * rows // int(case["format"][1]))
        must("cuMemcpyHtoD_v2", memory, texels, size(len(texels)))
        packed = FORMATS[case["format"]] | case["channels"] << 32
        if case["memory"] == "linear":
            return Resource(2, (word64 * 16)(memory.value, packed, row)), None
        return Resource(3, (word64 * 16)(memory.value, packed, width, height, pitch)), None
    if case["levels"] == 0:
        must("cuArray3DCreate_v2", ctypes.byref(array), ctypes.byref(facts))
        fill(array, case, case["extent"], flags)
        return Resource(0, (word64 * 16)(array.value)), array
    must("cuMipmappedArrayCreate", ctypes.byref(array), ctypes.byref(facts), case["levels"])
    stacked = flags & (LAYERED | CUBE)
    for level in range(case["levels"]):
        part = pointer()
        must("cuMipmappedArrayGetLevel", ctypes.byref(part), array, level)
        extent = [max(1, n >> level) if n else 0 for n in case["extent"]]
        if stacked:
            extent[2] = case["extent"][2]
        fill(part, case, extent, flags)
    return Resource(1, (word64 * 16)(array.value)), array


def make_sampling(case):
    one = {
        "bias": 0.0,
        "least": 0.0,
        "most": 100.0,
        "level_filter": 0,
        "filter": 0,
        "flags": 0,
        "mode": (1, 1, 1),
        "border": (0.25, 0.5, 0.75, 1.0),
        "anisotropy": 0,
    } | case["sampling"]
    return Sampling(
        (number * 3)(*one["mode"]),
        one["filter"],
        one["flags"],
        one["anisotropy"],
        one["level_filter"],
        one["bias"],
        one["least"],
        one["most"],
        (ctypes.c_float * 4)(*one["border"]),
    )


def launch(module, case, first, second):
    """The words that a kernel writes: eight for each lane."""
    function, inputs, output = pointer(), word64(), word64()
    rows = case["rows"]
    data = b"".join(
        struct.pack("<8I", *(texture_case.bits(value) for value in (*row, *[0] * (8 - len(row)))))
        for row in rows
    )
    out = (ctypes.c_uint32 * (8 * len(rows)))()
    must("cuModuleGetFunction", ctypes.byref(function), module, b"probe")
    must("cuMemAlloc_v2", ctypes.byref(inputs), size(len(data)))
    must("cuMemAlloc_v2", ctypes.byref(output), size(len(data)))
    must("cuMemcpyHtoD_v2", inputs, data, size(len(data)))
    must("cuMemsetD32_v2", output, 0xDEADBEEF, size(8 * len(rows)))
    values = [word64(first), word64(second), inputs, output]
    parameters = (pointer * 4)(*(ctypes.addressof(value) for value in values))
    must("cuLaunchKernel", function, 1, 1, 1, len(rows), 1, 1, 0, None, parameters, None)
    must("cuCtxSynchronize")
    must("cuMemcpyDtoH_v2", out, output, size(len(data)))
    return list(out)


def bind(module, case, resource, array):
    """Gives the module's references what the case says."""
    sampling = case["sampling"]
    if case["bind"] == "surface":
        surface = pointer()
        must("cuModuleGetSurfRef", ctypes.byref(surface), module, b"S")
        must("cuSurfRefSetArray", surface, array, 0)
        return
    texture = pointer()
    must("cuModuleGetTexRef", ctypes.byref(texture), module, b"T")
    if case["memory"] == "linear":
        offset = size()
        must(
            "cuTexRefSetAddress_v2",
            ctypes.byref(offset),
            texture,
            word64(resource.words[0]),
            size(resource.words[2]),
        )
        must("cuTexRefSetFormat", texture, FORMATS[case["format"]], case["channels"])
    elif case["levels"]:
        must("cuTexRefSetMipmappedArray", texture, array, 1)
    else:
        must("cuTexRefSetArray", texture, array, 1)
    for axis, mode in enumerate(sampling.get("mode", ())):
        must("cuTexRefSetAddressMode", texture, axis, mode)
    must("cuTexRefSetFilterMode", texture, sampling.get("filter", 0))
    must("cuTexRefSetFlags", texture, sampling.get("flags", 0))


def run(case):
    resource, array = make_resource(case)
    objects, module = [], pointer()
    text = texture_case.make_text(case).encode()
    must("cuModuleLoadData", ctypes.byref(module), text)
    if case["bind"]:
        bind(module, case, resource, array)
    else:
        made = word64()
        if "surface" in case["flags"] and case["object"] != "texture":
            must("cuSurfObjectCreate", ctypes.byref(made), ctypes.byref(resource))
        else:
            sampling = make_sampling(case)
            must(
                "cuTexObjectCreate",
                ctypes.byref(made),
                ctypes.byref(resource),
                ctypes.byref(sampling),
                None,
            )
        objects.append(made.value)
    first = objects[0] if objects else 0
    out = launch(module, case, first, first)
    return out + (read_back(array, case) if case["object"] == "surface" else [])


def main():
    group, path = sys.argv[1:3]
    context = pointer()
    must("cuInit", 0)
    must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    must("cuCtxSetCurrent", context)
    results = {}
    for case in cases.list_cases(group):
        try:
            words = " ".join(f"{word:x}" for word in run(case))
        except DriverError as error:
            words = "error {} {}".format(*error.args)
        results[case["name"]] = words
        if "cuCtxSynchronize" in words:
            break
    with open(path, "w") as file:
        json.dump(results, file, indent=0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
