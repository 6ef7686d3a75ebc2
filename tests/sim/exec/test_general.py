"""Rare conversions and comparisons: csrc/sim/exec/alu_general.c compiled alone with sanitizers."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT

SOURCES = ["sim/exec/alu_general.c", "ptx/module.c"]
SOURCES += [f"base/{name}.c" for name in ("arena", "heap", "poll", "status", "text")]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """{name: 32 lanes} as general.c prints them."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("general")
    command = [compiler, "-std=gnu11", "-O1", *SANITIZERS, f"-I{ROOT / 'csrc'}"]
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    trial = [*command, probe, "-o", folder / "probe"]
    if subprocess.run(trial, check=False, timeout=60).returncode != 0:
        pytest.skip("the C compiler has no sanitizers")
    sources = [str(ROOT / "csrc" / source) for source in SOURCES]
    command += [Path(__file__).with_name("general.c"), *sources, "-o", folder / "general"]
    subprocess.run([*command, "-lm"], check=True, timeout=120)
    done = subprocess.run([folder / "general"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: [int(value, 16) for value in values] for name, *values in lines}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("u32_f64", (3.0 * np.arange(16)).view(np.uint64)),
        ("u16_u64", 3 * np.arange(16)),
        # a, 3 * lane, in the upper half, b, 45 = 0x51a0, in the lower
        (
            "f32_f16x2",
            [int(half) << 16 | 0x51A0 for half in np.float16(range(0, 48, 3)).view("u2")],
        ),
        ("pack_u8", [7 << 16 | 3 * lane << 8 | 45 for lane in range(16)]),
        # 3 * lane < 45 in lanes 0 to 14
        ("set_lt", [0xFFFFFFFF] * 15 + [0]),
    ],
)
def test_rows(rows, name, expected):
    """Lanes that do not run keep what they have: all ones."""
    found = rows[name]
    assert found[:16] == list(expected)
    assert found[16:] == [0xFFFFFFFF if max(found) < 2**32 else 2**64 - 1] * 16
