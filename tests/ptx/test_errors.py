"""Each class of faulty PTX: the exception, its line and column, and the very word."""

import pytest

import smemkit
from smemkit import _core

HEAD = """\
.version 9.0
.target sm_90
.address_size 64
.shared .b32 sh[4];
.global .b32 gl[4];
.func (.param .b32 r) callee (.param .b32 x, .param .align 4 .b8 y[8]);
.visible .entry other() { L2: ret; }
.visible .entry k(.param .u64 a)
{
.reg .pred p, q; .reg .b16 h; .reg .b32 r, s, t; .reg .b64 d, e; .reg .f32 f; .reg .f64 g;
.param .b32 ret0; .param .b32 x0; .param .align 4 .b8 y0[8]; .param .align 4 .b8 z0[12];
B: .branchtargets L;
C: .calltargets callee;
P: .callprototype (.param .b32 _) _ (.param .b32 _);
L:
"""
LINE = HEAD.count("\n") + 1
PTX, TYPE, UNSUPPORTED = smemkit.PtxError, smemkit.PtxTypeError, smemkit.UnsupportedError

# the faulty line, with the word that the message must name and point at in « », and the exception
MMA = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
FAULTS = [
    ("«frobnicate».u32 r, s;", PTX),
    ("add«.wobble».u32 r, s, t;", PTX),
    ("add«.hi».u32 r, s, t;", PTX),
    ("add.sat«.sat».s32 r, s, t;", PTX),
    ("add«.b32» r, s, t;", TYPE),
    ("shl«.u32» r, s, 1;", TYPE),
    ("add«.u8» r, s, t;", TYPE),
    ("«add» r, s, t;", PTX),
    ("«mul».u32 r, s, t;", PTX),
    ("«setp».u32 p, s, t;", PTX),
    ("«fma».f32 f, f, f, f;", PTX),
    ("«div».f32 f, f, f;", PTX),
    ("«cvt».f32.s32 f, r;", PTX),
    ("«ld».global.relaxed.u32 r, [d];", PTX),
    ("setp.lo«.s32» p, s, t;", TYPE),
    ("mul.wide«.u64» d, d, d;", TYPE),
    ("«add».u32 r, s;", PTX),
    ("add.u32 r, s, t, «4»;", PTX),
    ("add.u32 r, s, «d»;", TYPE),
    ("add.u32 «f», s, t;", TYPE),
    ("add.f32 f, f, «1»;", TYPE),
    ("add.u32 r, s, «1.5»;", TYPE),
    ("add.u32 «p», s, t;", TYPE),
    ("add.u32 r, s, «!t»;", TYPE),
    ("and.pred p, q, «r»;", TYPE),
    ("selp.u32 r, s, t, «t»;", TYPE),
    ("mov.u32 «f», r;", TYPE),
    ("mov.f32 f, «{h, h}»;", TYPE),
    ("mov.u32 r, «gl»;", TYPE),
    ("ld.global.f64 «f», [d];", TYPE),
    ("ld.global.u64 «r», [d];", TYPE),
    ("ld.global.u32 r, «[f]»;", TYPE),
    ("ld.global.u32 r, «[s]»;", TYPE),
    ("ld.global.u32 r, «d»;", PTX),
    ("ld.global.u32 r, «[sh]»;", PTX),
    ("ld.global.v2.u32 «r», [d];", PTX),
    ("ld.global.v2.u32 «{r, s, t}», [d];", PTX),
    ("ld.global.u32 «_», [d];", PTX),
    ("ld.global.u32 r, [d+«s»];", PTX),
    ("st.global.u32 [d], «gl»;", PTX),
    ("mov.u32 «3», r;", PTX),
    ("add.u32 r, «%tid.x», s;", PTX),
    ("mov.u32 r, «%clock64»;", TYPE),
    ("lop3.b32 r, r, s, t, «s»;", PTX),
    ("add.u16x2 r, s, «5»;", PTX),
    ("cvt.rn.f32.u32 f, «%tid.x»;", PTX),
    ("cvt.rn.bf16.f32 «r», f;", TYPE),
    ("cvt.rni.s32.bf16 r, «s»;", TYPE),
    ("dp4a.u32.u32 r, s, t, «f»;", TYPE),
    ("vadd.u32.u32.u32 «f», s, t;", TYPE),
    ("match.sync.any.b32 r, s, «f»;", TYPE),
    ("redux.sync.and.b32 r, «f», s;", TYPE),
    ("bfe.u32 r, s, «0x100000001», t;", PTX),
    ("min.s16x2 r, «5», s;", PTX),
    ("vadd4.u32.u32.u32 r, «1», s, t;", PTX),
    ("vset2.eq.u32.u32 r, s, t, «0»;", PTX),
    ("«max».f32 f, f, f, f;", PTX),
    ("«cvt».rn.satfinite.tf32.f32 r, f;", PTX),
    ("mbarrier.arrive.shared::cluster.b64 «d», [d];", PTX),
    ("prefetchu.L1 «[sh]»;", PTX),
    ("ld.u32 r, «[4]»;", PTX),
    ("ld.u32 r, «[a]»;", PTX),
    ("mov.u32 r, «%pm8»;", PTX),
    ("cp.async.cg.shared.global [sh], [d], «8»;", PTX),
    ("cp.async.ca.shared.global [sh], [d], «3»;", PTX),
    ("cp.async.ca.shared.global [d], «[sh]», 4;", PTX),
    ("mov.u32 r, «absent»;", PTX),
    ("bra «absent»;", PTX),
    ("bra «L2»;", PTX),
    ("bra «r»;", PTX),
    ("bra «B»;", PTX),
    ("{ M: } bra «M»;", PTX),
    ("brx.idx r, «L»;", PTX),
    ("brx.idx r, «C»;", PTX),
    ("@«r» mov.u32 r, s;", TYPE),
    ("@«absent» mov.u32 r, s;", PTX),
    ("call «absent»;", PTX),
    ("call «other»;", PTX),
    ("call «callee», (x0, y0);", PTX),
    ("call (ret0), «d+4», (x0, y0);", PTX),
    ("call (ret0), callee, «(x0)»;", PTX),
    ("call (ret0), callee, «(x0, z0)»;", TYPE),
    ("call (ret0), callee, «(y0, y0)»;", TYPE),
    ("call «(d)», callee, (x0, y0);", TYPE),
    ("call (ret0), callee, «(d, y0)»;", TYPE),
    ("call (ret0), «d», (x0);", PTX),
    ("call (ret0), «r», (x0), P;", TYPE),
    ("call (ret0), d, (x0), «L»;", PTX),
    (".reg .b32 «r»;", PTX),
    (".reg .b32 big<«4000000000»>;", PTX),
    (".reg «.b33» x;", PTX),
    (".shared .b8 x[«1» << 60];", PTX),
    (".shared .b64 «x»[1 << 40];", PTX),
    (".local .b8 «x»[1 << 30];", PTX),
    (".shared .b32 «x» = 4;", PTX),
    (".shared .align «3» .b32 x;", PTX),
    (".shared .pred «x»;", TYPE),
    (".reg «.f32x2» x;", TYPE),
    (".shared «.u4» x;", TYPE),
    (".reg .v2 .f32 v; mov.f32 f, v«.z»;", PTX),
    (".reg «.v4» .f64 v;", PTX),
    (".reg «.v2» .pred v;", PTX),
    (".reg .v2 .f32 v; add.f32 «v», v, v;", PTX),
    ("add.u32 «r+4», s, t;", PTX),
    ("add.f32 f, «f+4», f;", TYPE),
    ("st.global.v2.b32 [d], {«s»+1, t};", PTX),
    ("@«p»+1 ret;", TYPE),
    ("mov.u32 r, «callee»;", TYPE),
    ("mov.u32 r, «gl»;", TYPE),
    ("add.u32 r, «{s}», t;", PTX),
    ("ld.global.b32 «{_}», [d];", PTX),
    ("mov.u32 «{r}», s;", TYPE),
    ("lop3.or.b32 «r», r, s, t, 5, q;", PTX),
    ("lop3.or.b32 «r|_», r, s, t, 5, q;", PTX),
    ("lop3«.xor».b32 r|p, r, s, t, 5, q;", PTX),
    ("elect.sync «r», -1;", PTX),
    ("«add».f32x2 d, d, d;", PTX),
    ("«cvt».pack.u16.s32 r, s, t;", PTX),
    ("cvt.pack.sat.u16.s32«.b32» r, s, t, r;", TYPE),
    ("«.wobble» 3;", PTX),
    ("«.visible» .b32 x;", PTX),
    ("mov.u32 r, 1 «/» 0;", PTX),
    ("mov.u32 r, «0f3F80»;", PTX),
    ("mov.u32 r, «0x»;", PTX),
    ("mov.u32 r, «99999999999999999999»;", PTX),
    ("mov.u32 r, «12ab»;", PTX),
    ("mov.u32 r, (1«;»", PTX),
    ("mov.u32 r «s»;", PTX),
    ("mov.u32 r, s", PTX),
    ("mov.u32 r, «\x01»;", PTX),
    ("mov.u32 r, «é»;", PTX),
    ('mov.u32 r, «"»text', PTX),
    ("«/*» no end", PTX),
    ("«wgmma».fence.sync.aligned;", UNSUPPORTED),
    ("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 «{r}», {r}, {r}, {r};", PTX),
    ("mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 «{r}», {r}, {r}, {r};", PTX),
    ("«mma».sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f}, {r}, {r}, {f};", PTX),
    ("«mma».aligned.m16n8k8.row.col.f32.f16.f16.f32 {f}, {r}, {r}, {f};", PTX),
    ("«mma».sync.m16n8k8.row.col.f32.f16.f16.f32 {f}, {r}, {r}, {f};", PTX),
    ("mma.sync.aligned.m16n8k8.row«.row».f32.f16.f16.f32 {f}, {r}, {r}, {f};", PTX),
    ("mma.sync.aligned.m16n8k8.row.col.f32.bf16«.f16».f32 {f}, {r}, {r}, {f};", TYPE),
    ("mma.sync.aligned.m16n8k4.row.col.f32«.f16».f16.f32 {f}, {r}, {r}, {f};", TYPE),
    (MMA + "«{f, f}», {r, r}, {r}, {f, f, f, f};", PTX),
    (MMA + "{f, f, f, f}, «{r, r, r}», {r}, {f, f, f, f};", PTX),
    (MMA + "{f, f, f, f}, {r, r}, «r», {f, f, f, f};", PTX),
    (MMA + "{f, f, f, f}, {r, r}, «r|p», {f, f, f, f};", PTX),
    (MMA + "{f, f, f, f}, {r, r}, {r};", PTX),
    (MMA + "{f, f, f, f}, {r, r}, {r}, {f, f, f, f}, «r»;", PTX),
    (MMA + "«{f, f, d, f}», {r, r}, {r}, {f, f, f, f};", TYPE),
    (MMA + "{f, f, f, f}, «{r, d}», {r}, {f, f, f, f};", TYPE),
    (MMA + "«{f, f, 0, f}», {r, r}, {r}, {f, f, f, f};", PTX),
    (MMA + "{f, f, f, f}, «{r, _}», {r}, {f, f, f, f};", PTX),
    (MMA + "{f, f, f, f}, «{r, sh}», {r}, {f, f, f, f};", PTX),
    ("«ldmatrix».sync.aligned.m16n16.x1.trans.shared.b8 {r, s}, [sh];", PTX),
    ("ldmatrix.sync.aligned.m8n8.x1.shared«.b8» {r}, [sh];", TYPE),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 «r», [sh];", PTX),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 «{r}», [sh];", PTX),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 «{r, d}», [sh];", TYPE),
    ("«ldmatrix».aligned.m8n8.x1.shared.b16 {r}, [sh];", PTX),
    ("ldmatrix.sync.aligned.m8n8.x1«.global».b16 {r}, [sh];", PTX),
    ("«tcgen05».fence::before_thread_sync;", UNSUPPORTED),
    ("cp.async.bulk«.tensor».1d.global.shared::cta.tile.bulk_group [d, {r}], [sh];", UNSUPPORTED),
    ("fence.proxy«.tensormap::generic».release.gpu;", UNSUPPORTED),
    ("«shfl».up.b32 r, s, 1, 0;", UNSUPPORTED),
    ("«suq.channel_order.b32» r, [d];", UNSUPPORTED),
    ("cvt.rn.satfinite«.s2f6x2».f32 h, f, f;", UNSUPPORTED),
    ("mov.pred p, «%is_explicit_cluster»;", UNSUPPORTED),
    ("«ld».global.v8.b8 {h, h, h, h, h, h, h, h}, [d];", UNSUPPORTED),
]

# Faults whose message says what is wrong without the word.
WORDLESS = ("call (ret0), callee, «(x0)", "mov.u32 r, 1 «/» 0", 'mov.u32 r, «"')


@pytest.mark.parametrize("marked, error", FAULTS, ids=[x[0][:50] for x in FAULTS])
def test_fault(marked, error):
    before, _, rest = marked.partition("«")
    word = rest.partition("»")[0]
    line = marked.replace("«", "").replace("»", "")
    with pytest.raises(smemkit.PtxError) as caught:
        _core._ptx_print(HEAD + line + "\n}\n")
    assert type(caught.value) is error
    if not rest:
        assert caught.value.ptx_line in (LINE, LINE + 1)
        return
    assert caught.value.ptx_line == LINE
    assert caught.value.ptx_column == len(before.encode()) + 1, str(caught.value)
    if word.isascii() and word.isprintable() and not marked.startswith(WORDLESS):
        assert word in str(caught.value)


MODULES = [
    ("", PTX),
    ("// nothing", PTX),
    (".target sm_90", PTX),
    (".version 9.0", PTX),
    (".version nine\n.target sm_90\n.address_size 64", PTX),
    (".version 10.0\n.target sm_90\n.address_size 64", UNSUPPORTED),
    (".version 99.0\n.target sm_90\n.address_size 64", UNSUPPORTED),
    (".version 9.0\n.target sm_90, wobble\n.address_size 64", PTX),
    (".version 9.0\n.target debug\n.address_size 64", PTX),
    (".version 9.0\n.target sm_90\n.address_size 32", UNSUPPORTED),
    (HEAD[: HEAD.index(".shared")] + ".entry k() { ret; } .entry k() { ret; }", PTX),
    (HEAD[: HEAD.index(".shared")] + ".entry k() { ret; ", PTX),
    (HEAD[: HEAD.index(".shared")] + ".func f(.param .u32 a); .func f(.param .u64 a) {}", PTX),
    (HEAD[: HEAD.index(".shared")] + ".entry k(.reg .u32 a) {}", PTX),
    (HEAD[: HEAD.index(".shared")] + ".entry k(.param .u32 a, .param .u32 a) {}", PTX),
    (HEAD[: HEAD.index(".shared")] + ".entry k(.param .b8 a[40000]) {}", PTX),
    (HEAD[: HEAD.index(".shared")] + ".entry k() .reqnctapercluster 2 {}", UNSUPPORTED),
    (HEAD[: HEAD.index(".shared")] + ".global .u32 x[2] = {1, 2, 3};", PTX),
    (HEAD[: HEAD.index(".shared")] + ".global .f32 x = 1;", TYPE),
    (HEAD[: HEAD.index(".shared")] + ".global .u32 x = 1.5;", TYPE),
    (HEAD[: HEAD.index(".shared")] + ".global .u64 x = absent;", PTX),
    (HEAD[: HEAD.index(".shared")] + ".global .b8 x[1 << 38] = {1};", UNSUPPORTED),
    (HEAD[: HEAD.index(".shared")] + ".global .b8 x[];", PTX),
    (HEAD[: HEAD.index(".shared")] + ".tex .u32 t;", UNSUPPORTED),
    (HEAD[: HEAD.index(".shared")] + ".section .debug_str { .b8 1", PTX),
    (HEAD[: HEAD.index(".shared")] + ".entry e()\n.entry k() { ret; }", PTX),
    *(
        (HEAD[: HEAD.index(".shared")] + declarations, error)
        for declarations, error in (
            (".entry k() { ret; } .func g(); .alias g, k;", PTX),
            (".func f() { ret; } .entry k(); .alias k, f;", PTX),
            (".func f(.param .b32 a) { ret; } .func g(.param .b64 a); .alias g, f;", TYPE),
            (".func f(.param .b32 a) { ret; } .func g(.param .f32 a); .alias g, f;", TYPE),
            (".func f(.param .b32 a) { ret; } .func g(); .alias g, f;", TYPE),
            (".func (.param .b32 a) f() { ret; } .func g(); .alias g, f;", TYPE),
            (".func f() .noreturn { trap; } .func g(); .alias g, f;", TYPE),
            (".func f() { ret; } .func g() { ret; } .alias g, f;", PTX),
            (".func f() { ret; } .alias g, f;", PTX),
            (".func f() { ret; } .alias f, f;", PTX),
            (".func f(); .func g(); .alias g, f;", PTX),
            (".func f(); .func g(); .alias g, f; .alias f, g;", PTX),
            (".func f() { ret; } .func h() { ret; } .func g(); .alias g, f; .alias g, h;", PTX),
            (".global .b32 x; .func f() { ret; } .alias x, f;", PTX),
        )
    ),
]


NUMBERED = {
    "bfe.u32 r, s, 256, t;": r"operand 3, '256', is out of range",
    "call (ret0), callee, (x0, z0);": r"argument 2 of '\(x0, z0\)' does not fit its 8 bytes",
}


@pytest.mark.parametrize("line", NUMBERED)
def test_operands_are_numbered_from_1(line):
    with pytest.raises(smemkit.PtxError, match=NUMBERED[line]):
        _core._ptx_print(HEAD + line + "\n}\n")


@pytest.mark.parametrize("text, error", MODULES, ids=range(len(MODULES)))
def test_faulty_module(text, error):
    with pytest.raises(smemkit.PtxError) as caught:
        _core._ptx_print(text)
    assert type(caught.value) is error
    assert caught.value.ptx_line >= 1 and caught.value.ptx_column >= 1
