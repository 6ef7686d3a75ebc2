"""The classes of machine instructions: which pipe of a multiprocessor serves an opcode, how fast.

An opcode is looked up by its first word (`LDS` of `LDS.128`); where the rest of it decides, by the
longest entry that it begins with (`IMAD.MOV` before `IMAD`). The rates are NVIDIA's, "Throughput
of Native Arithmetic Instructions" by compute capability (results a clock and multiprocessor), in
the CUDA C++ Programming Guide up to 12 and in the Best Practices Guide of 13. The rows of 7.5, 8.0
and 8.6 were compared with that table (halves of 8.6: those of bfloat16), those of 12.0 with what
others cite of it; the rest is not verified. An instruction of a warp has 32 results, and a
multiprocessor has four partitions of which each issues one instruction a clock.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PARTITIONS = 4  # of a multiprocessor, from compute capability 7.0 on
WARP_SIZE = 32

# Class -> what it holds.
CLASSES = {
    "fma": "additions, products and multiply-adds of float32",
    "imad": "integer products and multiply-adds, which share the pipe of fma",
    "half": "arithmetic of float16 and bfloat16 pairs",
    "half_mma": "HFMA2.MMA: such pairs too, by a pipe of its own",
    "alu": "integer additions, logic, shifts, comparisons, selections, moves",
    "double": "arithmetic of float64",
    "special": "reciprocals, roots, exponentials, sines; counts of bits",
    "convert": "conversions between types",
    "tensor": "products of small matrices",
    "load.shared": "LDS",
    "store.shared": "STS",
    "atomic.shared": "ATOMS",
    "matrix.shared": "LDSM and STSM: small matrices from and to shared memory",
    "load.global": "LDG, and loads through generic addresses",
    "store.global": "STG, and stores through generic addresses",
    "atomic.global": "ATOMG, RED, and atomics through generic addresses",
    "load.local": "LDL",
    "store.local": "STL",
    "async": "copies from global to shared memory: LDGSTS, TMA",
    "load.constant": "LDC: constant memory at computed addresses",
    "uniform_constant": "ULDC: constant memory, for the warp as a whole",
    "texture": "textures and surfaces",
    "shuffle": "SHFL: exchange between lanes",
    "vote": "votes and matches of a warp",
    "uniform": "arithmetic of the warp as a whole, by its own pipe",
    "special_register": "S2R: reads of thread and block numbers",
    "control": "branches, exits, calls, reconvergence",
    "barrier": "barriers of the block",
    "fence": "fences and waits for memory",
    "empty": "NOP and hints",
}

_WORDS = {
    "fma": "FADD FADD32I FFMA FFMA32I FFMA2 FADD2 FMUL2 FMUL FMUL32I FSWZADD",
    "imad": "IMAD IMUL IMUL32I IDP IDP4A XMAD VIADD",
    "half": "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I",
    "alu": (
        "IADD IADD3 IADD32I IABS ISETP IMNMX VIMNMX VIMNMX3 LEA LOP LOP3 LOP32I PLOP3 SHF SHL SHR"
        " SEL FSEL FSET FSETP FMNMX FMNMX3 FCHK HSET2 HSETP2 HMNMX2 MOV MOV32I PRMT SGXT BMSK"
        " P2R R2P PSETP BITEXTRACT VABSDIFF VABSDIFF4 VIADDMNMX ICMP ISCADD CSEL CS2R"
        " LEPC I2FP IMAD.MOV UI2FP"
    ),
    "double": "DADD DFMA DMUL DSETP DMNMX",
    "special": "MUFU FLO POPC BREV RRO",
    "convert": "F2F F2I I2F I2I FRND F2IP",
    "tensor": (
        "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA MOVM UTCHMMA UTCIMMA UTCQMMA UTCOMMA"
    ),
    "load.shared": "LDS",
    "store.shared": "STS STAS",
    "atomic.shared": "ATOMS SYNCS",
    "matrix.shared": "LDSM STSM",
    "load.global": "LDG LD LDTM",
    "store.global": "STG ST STTM",
    "atomic.global": "ATOM ATOMG RED REDG REDAS CCTL CCTLL CCTLT",
    "load.local": "LDL",
    "store.local": "STL",
    "async": "LDGSTS UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL",
    "load.constant": "LDC",
    "uniform_constant": "LDCU ULDC",
    "texture": "TEX TLD TLD4 TMML TXD TXQ SULD SUST SUATOM SURED",
    "shuffle": "SHFL",
    "vote": "VOTE VOTEU MATCH REDUX CREDUX",
    "uniform": (
        "UBMSK UBREV UCLEA UFLO UIADD3 UIADD UIMAD UISETP UIMNMX UVIMNMX ULEA ULOP ULOP3 ULOP32I"
        " UMOV UP2UR UPLOP3 UPOPC UPRMT UPSETP UR2UP USEL USGXT USHF USHL USHR R2UR UVIADD UFADD"
        " UFFMA UFMUL UFSETP UFSEL UFMNMX UF2F UF2I UF2FP UI2F UFRND UCGABAR_ARV UCGABAR_WAIT"
        " ELECT USETMAXREG"
    ),
    "special_register": "S2R S2UR",
    "control": (
        "BRA BRX BRXU BRANCH JMP JMX JMXU CALL RET EXIT BREAK BSSY BSYNC BMOV BPT KILL NANOSLEEP"
        " RPCMOV WARPSYNC YIELD RTT ACQBULK PREEXIT ENDCOLLECTIVE"
        " BSYNC.RECONVERGENT"
    ),
    "barrier": "BAR B2R",
    "fence": (
        "MEMBAR ERRBAR CGAERRBAR FENCE LDGDEPBAR DEPBAR ARRIVES WARPGROUP WARPGROUPSET CCTL.IVALL"
    ),
    "empty": "NOP PMTRIG SETCTAID SETLMEMBASE GETLMEMBASE",
}
OPCODES = {word: name for name, words in _WORDS.items() for word in words.split()}

# Moves that ptxas makes of products so that the pipe of fma shares the work stay products: they
# occupy that pipe, as VIADD does by Nsight Compute's counts on an H200.
OPCODES |= {"IMAD.MOV": "imad", "F2FP": "alu", "F2IP": "alu", "HFMA2.MMA": "half_mma"}


def classify(opcode: str) -> str | None:
    """The class of an opcode with its suffixes, such as "LDS.128"; None where it is not known."""
    name = opcode
    while name:
        found = OPCODES.get(name)
        if found:
            return found
        name = name.rpartition(".")[0]
    return None


# Results a clock and multiprocessor, by compute capability. What is not named is served by the
# load/store unit or the front end, whose limits are wavefronts, sectors and issue slots.
#                      fma  imad half alu double special convert
_RATES = {
    "75": (64, 64, 128, 64, 2, 16, 16),
    "80": (64, 64, 256, 64, 32, 16, 16),
    "86": (128, 64, 128, 64, 2, 16, 16),
    "87": (128, 64, 256, 64, 2, 16, 16),
    "89": (128, 64, 128, 64, 2, 16, 16),
    "90": (128, 64, 256, 64, 64, 16, 16),
    "100": (128, 64, 256, 64, 64, 16, 16),
    "103": (128, 64, 256, 64, 2, 16, 16),
    "120": (128, 64, 128, 128, 2, 16, 16),
    "121": (128, 64, 128, 128, 2, 16, 16),
}
_RATED = ("fma", "imad", "half", "alu", "double", "special", "convert")
_SHUFFLES = 32  # results a clock: SHFL; votes go through the pipe of alu
_UNIFORM = 2  # clocks that the uniform pipe of a partition is occupied by an instruction


# Times as long as others of their class these occupy its pipe, by our probe on an H200
# (tests/predict/rates_h200.json); of other architectures that is not verified.
SLOWER = {"IMAD.WIDE": 2.0, "IMAD.HI": 2.0, "MATCH": 4.0, "REDUX": 4.0}


def count_clocks(opcode: str, clocks: Mapping[str, float]) -> float:
    """Clocks for which an instruction occupies the pipe of its class, at its full rate.

    >>> count_clocks("IMAD.WIDE.U32", {"imad": 2.0}), count_clocks("IMAD", {"imad": 2.0})
    (4.0, 2.0)
    """
    times = next((times for name, times in SLOWER.items() if opcode.startswith(name)), 1.0)
    return times * clocks.get(classify(opcode) or "", 0.0)


def pipe_clocks(architecture: str) -> dict[str, float]:
    """{class: clocks for which a warp instruction occupies its pipe of one partition}.

    architecture: as in "90", "90a" or "86". KeyError where its rates are not known.
    """
    rates = dict(zip(_RATED, _RATES[architecture.rstrip("af")], strict=True))
    rates["shuffle"] = _SHUFFLES
    rates["vote"] = rates["alu"]
    # The table counts both results of a pair, and where it has 256, those of two pipes: ptxas
    # lets two clocks pass between HFMA2 of one warp, and on an H200 they take two.
    rates["half"] = rates["half_mma"] = 64
    clocks = {name: PARTITIONS * WARP_SIZE / rate for name, rate in rates.items()}
    return clocks | {"uniform": float(_UNIFORM)}


# Multiply-adds a clock and multiprocessor of small matrices, by compute capability: of 16 bits with
# sums of float32, of TF32, of 8 bits, of float64. NVIDIA's white papers of the architectures, for
# the cards of data centers; of the first two a card has Card.matrix_share.
_MATRIX_RATES = {
    "75": (512, 256, 1024, 2),
    "80": (1024, 512, 2048, 64),
    "86": (512, 256, 1024, 2),
    "87": (1024, 512, 2048, 2),
    "89": (512, 256, 1024, 2),
    "90": (2048, 1024, 4096, 128),
    "100": (4096, 2048, 8192, 64),
    "103": (4096, 2048, 8192, 2),
    "120": (512, 256, 1024, 2),
    "121": (512, 256, 1024, 2),
}
# Of its peak a Hopper reaches so much by products that warps make alone, without wgmma (W. Luo and
# others, arXiv 2402.13499, measured on an H800); for 10.0 and 10.3 nothing was found.
_WARP_SHARE = {"90": 0.63, "100": 0.63, "103": 0.63}
# Products of 8 x 8 x 4 float64 numbers have an A100's rate on a Hopper: 16 clocks each, which
# Nsight Compute's busy clocks of the pipe on an H200 confirm. The larger shapes are Hopper's own.
_SMALL_DOUBLE, _SMALL_DOUBLE_SHARE = 8 * 8 * 4, {"90": 0.5}
_MATRIX_SHAPE = re.compile(r"\.(\d+x\d+x\d+|\d{3,6})(?:\.|$)")
_SUMMED = ("HMMA", "HGMMA")  # with sums of float32, unless F16 follows the shape
_FULL_RATE = ("HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTC")


@functools.cache
def matrix_clocks(opcode: str, architecture: str, share: float = 1.0) -> float:
    """Clocks for which a product of small matrices occupies the tensor core of its partition.

    share: of the rate of sums of float32 that the card has.

    >>> matrix_clocks("HMMA.16816.F32.BF16", "80"), matrix_clocks("DMMA.884", "90a")
    (8.0, 16.0)
    >>> matrix_clocks("HMMA.16816.F32.BF16", "86", 0.5), matrix_clocks("HMMA.16816.F16", "86", 0.5)
    (32.0, 16.0)
    """
    key = architecture.rstrip("af")
    sixteen, tf32, eight, double = _MATRIX_RATES[key]
    word = opcode.partition(".")[0]
    found = _MATRIX_SHAPE.search(opcode)
    products = count_products(found[1]) if found else 0
    if not products:
        return 1.0
    rate = float(double if word == "DMMA" else eight if word[0] in "IQB" else sixteen)
    if word == "DMMA" and products <= _SMALL_DOUBLE:
        rate *= _SMALL_DOUBLE_SHARE.get(key, 1.0)
    if "TF32" in opcode:
        rate = float(tf32)
    if word in _SUMMED and "F16" not in opcode.split(".")[2:3]:
        rate *= share
    if word != "DMMA" and not word.startswith(_FULL_RATE):
        rate *= _WARP_SHARE.get(key, 1.0)
    return PARTITIONS * products / rate


def count_products(shape: str) -> int:
    """Multiply-adds of a shape as opcodes write it; 0 where it has no meaning.

    >>> count_products("16816"), count_products("64x128x16"), count_products("884")
    (2048, 131072, 256)
    """
    if "x" in shape:
        m, n, k = map(int, shape.split("x"))
        return m * n * k
    for rows in ("64", "16", "8"):
        if shape.startswith(rows) and shape[len(rows) : len(rows) + 1] == "8":
            depth = shape[len(rows) + 1 :]
            return int(rows) * 8 * int(depth) if depth else 0
    return 0
