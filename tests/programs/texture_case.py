"""A case of texture_script.py: an instruction, its operands, and the texture that it reads."""

import struct

TEXT = """.version {version}
.target {target}
.address_size 64
{variables}
.visible .entry probe(.param .u64 first, .param .u64 second, .param .u64 inputs, .param .u64 output)
{{
    .reg .b64 %rd<20>;
    .reg .b32 %r<40>;
    .reg .f32 %f<40>;
    .reg .pred %p<4>;
    ld.param.u64 %rd1, [first];
    ld.param.u64 %rd2, [second];
    ld.param.u64 %rd3, [inputs];
    ld.param.u64 %rd4, [output];
    mov.u32 %r30, %tid.x;
    mul.wide.u32 %rd5, %r30, 32;
    add.u64 %rd3, %rd3, %rd5;
    add.u64 %rd4, %rd4, %rd5;
    ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%rd3];
    ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd3+16];
{moves}
    mov.b64 %rd10, {{%r4, %r5}};
    mov.pred %p1, 0;
    {instruction}
{results}
    selp.u32 %r14, 1, 0, %p1;
    st.global.v4.u32 [%rd4], {{%r10, %r11, %r12, %r13}};
    st.global.v2.u32 [%rd4+16], {{%r14, %r15}};
    ret;
}}
"""


def bits(value):
    if isinstance(value, float):
        return struct.unpack("<I", struct.pack("<f", value))[0]
    return value & 0xFFFFFFFF


def make_text(case):
    """The kernel of a case: words and floats 0 to 7 are those of the lane, 10 to 13 the results."""
    instruction = case["instruction"]
    floats = "%f10" in instruction
    moves = [f"    mov.b32 %f{i}, %r{i};" for i in range(8)]
    moves += [f"    mov.b32 %r{i}, 0xeeeeeeee;" for i in range(10, 16)]
    moves += [f"    mov.b32 %f{i}, 0fEEEEEEEE;" for i in range(10, 14)]
    results = [f"    mov.b32 %r{i}, %f{i};" for i in range(10, 14)] if floats else []
    return TEXT.format(
        version=case["version"],
        target=case["target"],
        variables=case["variables"],
        instruction=instruction,
        moves="\n".join(moves),
        results="\n".join(results),
    )


def make_case(
    instruction,
    rows=((),),
    extent=(9, 7, 0),
    format="f4",
    channels=4,
    flags=(),
    levels=0,
    memory="",
    sampling=None,
    object="texture",
    bind="",
    variables="",
    target="sm_75",
    version="8.1",
    note="",
):
    case = dict(locals())
    case["sampling"] = sampling or {}
    words = [instruction, "x".join(map(str, extent)), f"{format}x{channels}", *flags, memory, note]
    words += [f"levels={levels}"] if levels else []
    words += [f"{key}={value}" for key, value in case["sampling"].items()]
    words += [target] if "independent" in target else []
    case["name"] = " ".join(filter(None, map(str, words)))
    return case


D, F = "{%r10,%r11,%r12,%r13}", "{%f10,%f11,%f12,%f13}"
NORMALIZED, AS_INTEGER, SRGB, SEAMLESS = 2, 1, 16, 64
