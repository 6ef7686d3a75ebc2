"""PTX that compilers and people write in more than one way: taken where ptxas takes it.

Each line stands in a kernel with some declarations. Where there is a ptxas it is the judge of what
is written here.
"""

import subprocess

import pytest
from support import disassemble

import smemkit
from smemkit import _core

DECLARATIONS = """\
.global .b32 gl[8]; .global .align 16 .f32 gf[8]; .const .b32 cc[4] = {1, 2, 3, 4};
"""
REGISTERS = """\
.reg .pred p, q; .reg .b8 c; .reg .b16 h, h2; .reg .b32 r, s, t; .reg .b64 d, e; .reg .f32 f, f2;
.reg .f64 g; .reg .u32 u; .reg .v2 .f32 v2; .reg .v4 .f32 v4; .reg .v4 .b32 w4; .reg .v2 .b16 vh;
.reg .v2 .u64 vd; .reg .b128 w; .reg .f16x2 hh; .shared .align 16 .b32 sh[8];
ld.param.u64 d, [a];
"""

TAKEN = """\
bar.cta.sync 15, 96;
bar.cta.red.popc.u32 r, 0, p;
barrier.cta.arrive.aligned 1, 32;
bfe.u32 r, s, 255, 255;
pmevent 15;
pmevent.mask 65535;
fence.proxy.alias;
membar.proxy.alias;
alloca.u64 d, 16, 16;
discard.global.L2 [d], 128;
createpolicy.fractional.L2::evict_last.b64 d, 1.0;
cp.async.ca.shared.global [sh], [d], 4, 0;
mbarrier.arrive.release.cta.shared.b64 d, [sh], 1;
mbarrier.try_wait.acquire.cluster.shared.b64 p, [sh], d;
setp.lt.f16 p, h, h2;
set.lt.bf16.f32 h, f, f2;
ld.volatile.global.L2::64B.b32 r, [d];
ld.shared.ca.b32 r, [sh];
ld.global.nc.cg.b32 r, [d];
ld.relaxed.mmio.sys.global.b32 r, [d];
ld.mmio.relaxed.sys.b128 w, [d];
st.mmio.relaxed.sys.global.b128 [d], w;
cp.async.mbarrier.arrive.b64 [r];
set.gtu.u32.f16x2 hh, r, s;
add.s32 r, hh, s;
cvt.u64.u32 d, hh;
cvt.rp.f32.bf16 f, h;
cvt.rn.ftz.f32.bf16 f, h;
cvt.rz.f64.bf16 g, h;
cvt.bf16.f16 h, h2;
cvt.f16.bf16 h, h2;
ld.global.b32 {r}, [d];
ld.global.f32 {r}, [d];
ld.global.b8 {h}, [d];
ld.global.nc.L1::no_allocate.b64 {e}, [d];
ld.acquire.gpu.global.b32 {r}, [d];
ld.volatile.global.b32 {r}, [d];
ld.param.u64 {d}, [a];
ldu.global.b32 {r}, [d];
@p ld.shared::cta.b16 {h}, [sh];
st.global.b32 [d], {r};
st.global.b32 [d], {5};
st.global.f32 [d], {1.0};
st.release.gpu.global.b32 [d], {s};
st.shared.f32 [sh], {f};
@!p st.global.b8 [d], {r};
st.global.v2.b32 [d], {r, %tid.x};
mov.b32 {r}, t;
mov.b32 r, {t};
mov.b32 {r}, %tid.x;
mov.b32 r, {%tid.x};
mov.b32 r, {5};
mov.b16 {h}, h2;
mov.b64 {d}, e;
mov.b64 {g}, d;
mov.b64 d, {r, %laneid};
add.u32 r, s+4, t;
add.u32 r, s, t + (4 * 2);
mov.u32 r, s + -4;
mov.b16 h2, h+7;
mov.u64 d, d + 4;
selp.u32 r, s+1, t+2, p;
st.global.b32 [d], r+1;
setp.lt.s32 q, s+3, t;
shl.b32 r, s+1, t+1;
bar.sync s+1;
@p shfl.sync.idx.b32 r, s+1, 0, 31, -1;
cvt.u32.u16 r, h+3;
{ .param .b32 p0; st.param.b32 [p0], s+1; }
mov.f32 f, v2.x;
mov.f32 v2.y, f;
add.f32 v4.w, v4.r, v4.g;
fma.rn.f32 v4.x, v4.b, v4.z, v4.a;
setp.eq.f32 p, v2.x, v2.y;
cvt.rn.f16x2.f32 r, v2.x, v2.y;
atom.global.add.f32 v2.x, [d], v2.y;
ld.global.f32 v2.x, [d];
ld.global.v2.f32 v2, [d];
ld.global.v4.b32 w4, [d];
ld.global.v4.b32 v4, [d];
ld.global.v2.b16 vh, [d];
st.global.v4.f32 [d], v4;
st.global.v4.f32 [d], {v2.x, v2.y, v2.x, v2.y};
mov.b64 d, v2;
mov.b64 v2, d;
mov.b64 {v2.x, v2.y}, d;
mov.b32 r, vh;
mov.v2.f32 v2, {f, f2};
mov.v2.f32 {f, f2}, v2;
mov.v2.f32 {f, _}, v2;
mov.v2.f32 {f, f2}, {f2, f};
mov.v4.f32 v4, v4;
mov.v2.u64 vd, {d, e};
mov.v2.u32 {r, s}, {5, t};
mov.v2.u32 {r, s}, {%tid.x, %tid.y};
mov.v2.u32 {r, s}, {t, u};
mov.v4.u32 {r, s, t, u}, %tid;
mov.v4.b32 w4, %nctaid;
mov.u32 r, %ntid.w;
.reg .v2 .f32 many<3>; mov.f32 many1.x, f;
.reg .v4 .u32 %tt; mov.u32 r, %tt.x;
lop3.and.b32 r|p, r, s, t, 5, q;
lop3.or.b32 r|p, r, s, t, 5, !q;
lop3.or.b32 _|p, r, s, t, 5, q;
@p lop3.or.b32 r|p, r+1, s, t, 5, p;
elect.sync r|p, -1;
elect.sync _|p, s;
cvt.pack.sat.u16.s32 r, s, t;
cvt.pack.sat.s16.s32 r, s, 5;
cvt.pack.sat.u8.s32.b32 r, s, t, u;
cvt.pack.sat.s8.s32.b32 r, s, t, 0;
cvt.pack.sat.u4.s32.b32 r, s, t, u;
cvt.pack.sat.s2.s32.b32 r, s, t, u;
.global .b32 x; ld.global.b32 r, [x];
.global .b32 x[4] = {1, 2, 3, 4}; ld.global.b32 r, [x+4];
.global .u64 x = gl; ld.global.u64 e, [x];
.const .b32 x = 5; ld.const.b32 r, [x];
{ .global .b32 x; ld.global.b32 r, [x]; } { .global .b64 x; ld.global.b64 e, [x]; }
.global .b64 gl; ld.global.b64 e, [gl];
""".splitlines()

REFUSED = """\
bar.sync 16;
bar.sync 1, 33;
bar.arrive 1, 0;
bar.sync.cta 0;
bar.red.popc.cta.u32 r, 0, p;
barrier.arrive.cta 1, 32;
bfe.u32 r, s, 256, 1;
bfi.b32 r, s, t, 1, 300;
pmevent 16;
pmevent.mask 65536;
alloca.u64 d, 16, 3;
discard.global.L2 [d], 64;
applypriority.global.L2::evict_normal [d], 64;
createpolicy.fractional.L2::evict_last.b64 d, 1.5;
createpolicy.fractional.L2::evict_last.b64 d, 0.0;
createpolicy.range.global.L2::evict_last.b64 d, [d], 128, 64;
cp.async.ca.shared.global [sh], [d], 4, 5;
mbarrier.arrive.shared.b64 d, [sh], 0;
mbarrier.arrive.release.shared.b64 d, [sh];
mbarrier.arrive.cta.shared.b64 d, [sh];
mbarrier.test_wait.acquire.shared.b64 p, [sh], d;
mbarrier.try_wait.cta.shared.b64 p, [sh], d;
setp.lt.f16 p|q, h, h2;
setp.lt.bf16 p|q, h, h2;
set.lt.ftz.bf16.f32 h, f, f2;
wmma.load.a.sync.aligned.row.m8n8k4.shared::cluster.f64 {g}, [sh];
mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {r,r},{s,s},{t,t},{r,r},u,4;
ld.volatile.global.ca.b32 r, [d];
ld.volatile.global.L1::evict_first.b32 r, [d];
ld.volatile.local.b32 r, [d];
ld.ca.L1::no_allocate.b32 r, [d];
ld.shared.L2::64B.b32 r, [sh];
ld.shared.L1::evict_first.b32 r, [sh];
ld.global.nc.cv.b32 r, [d];
ld.weak.global.nc.b32 r, [d];
ld.acquire.mmio.sys.global.b32 r, [d];
ld.relaxed.mmio.gpu.global.b32 r, [d];
st.volatile.global.wb.b32 [d], r;
st.shared.L2::cache_hint.b32 [sh], r, d;
atom.shared.add.L2::cache_hint.u32 r, [sh], s, d;
ld.global.b32 {_}, [d];
mov.b32 {r}, {t};
mov.u32 {r}, t;
mov.f32 f, {f2};
mov.pred {p}, q;
mov.b32 {h}, r;
mov.b64 {r}, d;
add.u32 {r}, s, t;
add.u32 r, {s}, t;
setp.eq.u32 {p}, r, s;
cvt.u32.u16 r, {h};
atom.global.add.u32 {r}, [d], s;
red.global.add.u32 [d], {s};
shfl.sync.idx.b32 {r}, s, 0, 31, -1;
@{p} add.u32 r, s, t;
st.global.b32 [d], %tid.x;
add.u32 r+1, s, t;
add.u32 r, s+t, t;
st.global.v2.b32 [d], {s+1, t+2};
@p+1 mov.u32 r, s;
mov.b64 d, vd;
mov.b64 v2, v2;
mov.f32 v2, v2;
mov.f32 v4.q, f;
mov.b32 vh, {h, h2};
mov.v2.pred {p, q}, {q, p};
mov.v2.b8 {c, c}, {c, c};
add.f32 v2, v2, v2;
st.global.v2.f32 [d], v4;
ld.global.v4.f32 {v2, v2}, [d];
mov.v2.u32 {r, s}, %tid;
mov.u32 r, %tid;
.reg .v4 .pred vp;
.reg .v4 .f64 vf;
.reg .v8 .f32 vq;
.reg .f32x2 x;
lop3.or.b32 r|_, r, s, t, 5, q;
lop3.or.b32 r, r, s, t, 5, q;
lop3.xor.b32 r|p, r, s, t, 5, q;
lop3.b32 r|p, r, s, t, 5;
elect.sync r|_, -1;
elect.sync r, -1;
cvt.pack.sat.u16.s32.b32 r, s, t, u;
cvt.pack.sat.u8.s32 r, s, t;
cvt.pack.u16.s32 r, s, t;
add.rn.f32x2 d, d, e;
.visible .global .b32 x;
.extern .shared .b32 x[];
.shared .b32 x = 5;
""".splitlines()

# of compute capability 10.0
PAIRS_TAKEN = """\
add.f32x2 d, e, e;
add.rm.ftz.f32x2 d, e, e;
sub.rn.f32x2 d, e, e;
mul.rz.f32x2 d, e, e;
fma.rn.ftz.f32x2 d, e, e, e;
add.f32x2 d, e, e+4;
""".splitlines()
PAIRS_REFUSED = """\
fma.f32x2 d, e, e, e;
add.sat.f32x2 d, e, e;
mad.rn.f32x2 d, e, e, e;
min.f32x2 d, e, e;
neg.f32x2 d, e;
add.f32x2 d, {f, f2}, e;
add.f32x2 d, v2, e;
add.f32x2 d, e, 5;
add.f32x2 g, g, g;
.reg .u64 x; add.f32x2 x, x, x;
""".splitlines()
MIXED_TAKEN = """\
add.f32.f16 f, h, f2;
add.rp.sat.f32.bf16 f, h, f2;
sub.f32.bf16 f, h, f2;
sub.sat.rm.f32.f16 f, h, 0f3F800000;
fma.rz.f32.f16 f, h, h2, f2;
fma.rn.sat.f32.bf16 r, h, h2, s;
@p add.f32.f16 f, h, f;
""".splitlines()
MIXED_REFUSED = """\
add.f32.f16 f, f2, h;
add.f32.f16 f, f2, f3;
add.ftz.f32.f16 f, h, f2;
add.f32.f16 f, 1, f2;
add.f32.f16 f, 1.0, f2;
add.f32.f16 h, h, f2;
add.f32.f16 d, h, f2;
add.f32.f16x2 f, r, f2;
add.f16.f32 f, h, f2;
add.f32.f32 f, f2, f3;
fma.f32.f16 f, h, h2, f2;
fma.rn.f32.f16 f, h, f3, f2;
fma.rn.f32.f16 f, h, 1.0, f2;
fma.rn.relu.f32.f16 f, h, h2, f2;
fma.rn.f32.f16.bf16 f, h, h2, f2;
mad.rn.f32.f16 f, h, h2, f2;
mul.f32.f16 f, h, f2;
""".splitlines()

KERNEL = ".visible .entry k(.param .u64 a) { ret; }\n"
CALLEE = ".func (.param .b32 r) f(.param .b32 x) { ret; }\n"
SAME = ".func (.param .b32 r) g(.param .b32 x);\n"
MODULES_TAKEN = [
    ".extern .func f()\n" + KERNEL,
    ".extern .func f()\n.extern .func g()\n" + KERNEL,
    ".extern .func f() .noreturn\n.global .b32 x;\n" + KERNEL,
    ".extern .func f()\n.visible .const .b32 x;\n" + KERNEL,
    '.extern .func f()\n.file 1 "x"\n' + KERNEL,
    ".extern .func f()\n.section .debug_x { }\n" + KERNEL,
    KERNEL + ".extern .func f()\n",
    CALLEE + SAME + ".alias g, f;\n" + KERNEL,
    ".func (.param .b32 r) f(.param .b32 x);\n" + SAME + ".alias g, f;\n" + CALLEE + KERNEL,
    CALLEE + SAME + SAME.replace("g(", "i(") + ".alias g, f;\n.alias i, g;\n" + KERNEL,
    ".func f() { ret; }\n.func g()\n.alias g, f;\n" + KERNEL,
]
MODULES_REFUSED = [
    ".entry e()\n" + KERNEL,
    CALLEE + ".func (.param .b64 r) g(.param .b32 x);\n.alias g, f;\n" + KERNEL,
    CALLEE + ".func (.param .f32 r) g(.param .b32 x);\n.alias g, f;\n" + KERNEL,
    KERNEL + ".func g(.param .u64 a);\n.alias g, k;\n",
    KERNEL + ".entry g(.param .u64 a);\n.alias g, k;\n",
    CALLEE + ".alias f, f;\n" + KERNEL,
    CALLEE + ".func i();\n.func j();\n.alias j, i;\n" + KERNEL,
]


def module(declarations, target="sm_90"):
    return f".version 8.7\n.target {target}\n.address_size 64\n{declarations}"


def kernel(line, target="sm_90"):
    body = f".visible .entry k(.param .u64 a)\n{{\n{REGISTERS}{line}\nret;\n}}\n"
    return module(DECLARATIONS + body, target)


CASES = [(kernel(line), True, line) for line in TAKEN]
CASES += [(kernel(line), False, line) for line in REFUSED]
CASES += [(kernel(line, "sm_100"), True, line) for line in PAIRS_TAKEN + MIXED_TAKEN]
CASES += [(kernel(line, "sm_100"), False, line) for line in PAIRS_REFUSED + MIXED_REFUSED]
CASES += [(kernel(line), False, line + " (sm_90)") for line in MIXED_TAKEN]
CASES += [(module(text), True, text) for text in MODULES_TAKEN]
CASES += [(module(text), False, text) for text in MODULES_REFUSED]
SUMS = "{" + ", ".join("r" * 8) + "}"
MIXED = (
    f"wmma.mma.sync.aligned.row.col.m32n8k16.s32.u8.s8.s32 {SUMS}, {{s, s, s, s}}, {{t}}, {SUMS};"
)
CASES.append((kernel(f"{MIXED} {SUMS}, {{s, s, s, s}}, {{t}}, {SUMS};"), False, MIXED))
CASES.append((module(KERNEL).replace(".address_size 64\n", ""), True, "no address size"))


@pytest.mark.parametrize("text, taken", [c[:2] for c in CASES], ids=[c[2][:60] for c in CASES])
def test_form(text, taken):
    if taken:
        once = _core._ptx_print(text)
        assert _core._ptx_print(once) == once
    else:
        with pytest.raises(smemkit.PtxError):
            _core._ptx_print(text)


def assemble(text, folder):
    path = folder / "module.ptx"
    path.write_text(text)
    target = "sm_100" if ".target sm_100" in text else "sm_90"
    command = [disassemble.find_tool("ptxas"), f"-arch={target}", str(path)]
    command += ["-o", str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(disassemble.find_tool("ptxas") is None, reason="there is no ptxas")
def test_ptxas_agrees(tmp_path):
    """With each form, and with what is printed of those that are taken."""
    wrong = []
    for text, taken, name in CASES:
        good, said = assemble(text, tmp_path)
        if good != taken:
            wrong.append(f"{name}: ptxas {'takes' if good else 'refuses'} it: {said[:200]}")
        if taken:
            good, said = assemble(_core._ptx_print(text), tmp_path)
            if not good:
                wrong.append(f"{name}: ptxas refuses what is printed of it: {said[:200]}")
    assert not wrong, "\n".join(wrong)


# What short forms become -------------------------------------------------------------------------


def instructions(line):
    text = _core._ptx_print(kernel(line))
    lines = text[text.index("{\n") :].splitlines()
    code = [x.strip() for x in lines if x.endswith(";") and ".reg" not in x and ".shared" not in x]
    assert code[0].startswith("ld.param") and code[-1] == "ret;"
    return [x.partition(" ")[0] if x[0] != "@" else x.split(" ")[1] for x in code[1:-1]]


@pytest.mark.parametrize(
    "line, expected",
    [
        ("ld.global.b32 {r}, [d];", ["ld.global.b32"]),
        ("add.u32 r, s+0, t;", ["add.u32"]),
        ("add.u32 r, s+4, t+5;", ["add.u32", "add.u32", "add.u32"]),
        ("@p mov.u64 e, d+4;", ["add.u64", "mov.u64"]),
        ("mov.v2.f32 v2, {f, f2};", ["mov.f32"] * 2),
        ("mov.v2.f32 {f, _}, v2;", ["mov.f32"]),
        ("mov.v2.f32 {f, f2}, {f2, f};", ["mov.f32"] * 4),
        ("mov.v2.b32 {r, s}, {t, r};", ["mov.b32"] * 4),
        ("mov.v2.b32 {r, s}, {s, t};", ["mov.b32"] * 2),
        ("lop3.or.b32 r|p, r, s, t, 5, q;", ["lop3.b32", "setp.ne.or.b32"]),
    ],
)
def test_short_form(line, expected):
    assert instructions(line) == expected
