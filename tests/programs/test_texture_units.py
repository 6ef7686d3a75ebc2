"""The texture units of the simulator against those of an H200: queries, offsets, levels, surfaces.

texture_units_h200.json has what texture_script.py wrote on an H200, through NVIDIA's driver; here
the same script runs on the stand-in for the driver.
"""

import json
import struct
import subprocess
import sys

import pytest
from support.paths import ROOT, TESTS

SCRIPT = TESTS / "programs" / "texture_script.py"
TABLE = TESTS / "programs" / "texture_units_h200.json"
CHANNELS = 4


def run_script(path):
    return subprocess.run(
        [sys.executable, "-m", "smemkit", "run", sys.executable, SCRIPT, "all", path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    path = tmp_path_factory.mktemp("textures") / "read.json"
    done = run_script(path)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(path.read_text())


def find_differences(name, ours, theirs):
    """Places of words that differ by more than is known: weights of mirrored coordinates, and of
    two levels of three axes, may be off by one 256th of each axis, of texels between -2 and 2."""
    known = "mode=(2, 2, 2)" in name or (".3d." in name and name.endswith("level_filter=1"))
    assert len(ours) == len(theirs)
    wrong = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    if known:
        values = [
            [struct.unpack("<f", struct.pack("<I", int(words[i], 16)))[0] for i in wrong]
            for words in (ours, theirs)
        ]
        wrong = [
            i
            for i, a, b in zip(wrong, *values, strict=True)
            if i % 8 >= CHANNELS or not abs(a - b) < 4 * 4 / 256
        ]
    return wrong


def list_groups():
    return sorted(json.loads(TABLE.read_text())["groups"])


@pytest.mark.parametrize("group", list_groups())
def test_a_group_of_instructions(group, read):
    cases = json.loads(TABLE.read_text())["groups"][group]
    wrong = {}
    for name, words in cases.items():
        places = find_differences(name, read[name].split(), words.split())
        if places:
            wrong[name] = places
    assert cases and not wrong, wrong


def test_a_sampler_of_the_module(read):
    """The driver of CUDA does not load texmode_independent, so that no H200 says what it reads."""
    (name,) = (name for name in read if "independent" in name)
    plain = next(
        name for name in read if "[T, {" in name and "flags=2" in name and "mode=(0, 2)" in name
    )
    assert read[name] == read[plain]


def test_levels_by_gradients(read):
    """One step along an axis of so many texels: the level whose texels are as large."""
    name = next(
        name
        for name in read
        if "tex.grad.2d" in name and "level_filter=1" in name and "anisotropy=0" in name
    )
    words = [int(word, 16) for word in read[name].split()[::8]]
    point = next(
        name
        for name in read
        if name.startswith("tex.level.2d")
        and "levels=5 flags=2 filter=1 level_filter=1" in name
        and name.endswith("level_filter=1")
        and "f4x1" in name
    )
    levels = [int(word, 16) for word in read[point].split()[::8]]
    assert words[0] == levels[2], "one texel: level 0"
    assert words[1] == levels[11], "two texels: level 1"
    assert words[2] == levels[16], "four texels: level 2"
    assert words[7] == levels[24], "more than there are: the last one"
