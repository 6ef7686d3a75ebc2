"""A workspace that launches share uncleared is left 0, or the simulator says that it was not."""

import numpy as np
import pytest
from sim.check.altered import altered, check_call

import smemkit
from smemkit.bench import workloads


def forget_zeros(text):
    """The PTX without the stores that follow the reads of the parts in each entry."""
    lines, reads = [], False
    for line in text.splitlines():
        reads = (reads or "ld.relaxed" in line) and ".entry" not in line
        if not (reads and "st.relaxed" in line):
            lines.append(line)
    return "\n".join(lines) + "\n"


def test_what_is_not_restored_is_told():
    text = smemkit.ptx("reduce", "single_pass")
    spoilt = forget_zeros(text)
    entries = text.count(".entry")
    removed = text.count("st.relaxed") - spoilt.count("st.relaxed")
    assert entries <= removed < text.count("st.relaxed")
    for dtype, bytes_left in (("float32", 8), ("float64", 16)):
        x = np.ones(20_000, dtype)
        assert smemkit.reduce(x, variant="single_pass", backend="sim") == 20_000
        with altered("reduce", "single_pass", spoilt) as core:
            for _ in range(2):  # each call has its own
                with pytest.raises(core.InternalError, match="to be left 0") as caught:
                    core.reduce(x, variant="single_pass", backend="sim")
                byte = int(str(caught.value).split("byte ")[1].split()[0])
                assert 256 <= byte < 256 + bytes_left, "the first part's first byte that is not 0"


def test_a_watched_call_is_not_judged():
    """What is watched may be a part of a launch; then nothing of it can be left as it should."""
    sizes = workloads.list_sizes("reduce")[0]
    with altered(
        "reduce", "single_pass", forget_zeros(smemkit.ptx("reduce", "single_pass"))
    ) as core:
        assert check_call(core, "reduce", "single_pass", "float32", sizes) == []
    x = np.ones(100_000, "float32")
    report = smemkit.profile(smemkit.reduce, x, variant="single_pass", backend="sim", blocks=2)
    assert report.launches[0].counters["global.atomic.requests"] > 0
