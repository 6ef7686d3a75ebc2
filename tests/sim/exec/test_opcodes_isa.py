"""Every instruction set that the simulator has handlers for computes the same bits."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy
from sim.exec import approx_rows, convert_rows, float_rows, integer_rows
from sim.exec.opcode_table import digest
import smemkit
rng = numpy.random.default_rng(int(sys.argv[1]))
for build in (integer_rows.integer_groups, float_rows.float_groups,
              lambda rng: [float_rows.pair_group(rng)], float_rows.mixed_groups,
              convert_rows.convert_groups, approx_rows.approx_groups):
    print(build.__name__, digest(build(rng), "sim"))
print(smemkit._core._isa())
"""


def run(isa, seed):
    environment = {**os.environ, "SMEMKIT_ISA": isa}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seed)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    *digests, name = result.stdout.split("\n")[:-1]
    return digests, name


@pytest.mark.slow
def test_same_bits_everywhere(rng):
    seed = int(rng.integers(2**32))
    best, name = run("", seed)
    if name == "baseline":
        pytest.skip("this processor has the baseline only")
    lower = ["baseline"] if name == "avx2" else ["baseline", "avx2"]
    for isa in lower:
        digests, used = run(isa, seed)
        assert used == isa
        assert digests == best
