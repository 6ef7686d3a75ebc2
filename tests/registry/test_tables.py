"""The tables: every row has its kernel file, every file its row, and their numbers agree."""

import math
import re
from pathlib import Path

import pytest

import smemkit

CSRC = Path(__file__).resolve().parents[2] / "csrc"
KERNELS = CSRC / "kernels"

CELL = r'"(?:[^"\\]|\\.)*"|[^,()"]+'


def read_rows(table, macro):
    """Rows of a .def file as lists of cells; quoted cells lose their quotes."""
    text = re.sub(r"/\*.*?\*/", "", (CSRC / "registry" / table).read_text(), flags=re.DOTALL)
    lines = [line for line in text.splitlines() if line.strip()]
    rows = []
    for line in lines:
        match = re.fullmatch(rf"{macro}\((.*)\)", line.strip())
        assert match, f"{table}: a line that is no {macro} row: {line}"
        rows.append([c.strip().strip('"') for c in re.findall(CELL, match[1]) if c.strip()])
    assert rows, f"{table} is empty"
    return rows


FAMILIES = {row[0]: row for row in read_rows("families.def", "SMK_FAMILY")}
VARIANTS = {(row[0], row[1]): row for row in read_rows("variants.def", "SMK_VARIANT")}
FILES = {(path.parent.name, path.stem): path for path in sorted(KERNELS.glob("*/*.cu"))}


def names(pairs):
    return ", ".join(f"{family}/{variant}" for family, variant in sorted(pairs))


def find_entries(ptx):
    """Entry name -> the text from its name to its body."""
    found = re.findall(r"\.entry\s+([\w$]+)\s*(\(.*?\))?([^{]*)\{", ptx, flags=re.DOTALL)
    return {name: directives for name, _, directives in found}


def test_every_kernel_file_has_a_row():
    missing = FILES.keys() - VARIANTS.keys()
    assert not missing, f"no row in csrc/registry/variants.def for csrc/kernels: {names(missing)}"


def test_every_row_has_a_kernel_file():
    missing = VARIANTS.keys() - FILES.keys()
    assert not missing, f"no file csrc/kernels/<family>/<variant>.cu for the rows: {names(missing)}"


def test_every_row_has_a_family_and_every_family_a_row():
    assert {family for family, _ in VARIANTS} == set(FAMILIES)
    assert {path.name for path in KERNELS.iterdir() if path.is_dir()} == set(FAMILIES)


def test_the_built_module_has_the_same_tables():
    assert list(smemkit.families()) == list(FAMILIES), "the module is older than families.def"
    for family, facts in smemkit.families().items():
        assert facts["signature"] == FAMILIES[family][1]
        rows = [row for (row_family, _), row in VARIANTS.items() if row_family == family]
        assert list(facts["variants"]) == [row[1] for row in rows]
        built = smemkit.variants(family)
        assert list(built) == [row[1] for row in rows], "the module is older than variants.def"
        for _, variant, block_x, block_y, tile_x, tile_y, types, speed, shows in rows:
            assert built[variant]["block"] == (int(block_x), int(block_y))
            assert built[variant]["tile"] == (int(tile_x), int(tile_y))
            assert built[variant]["dtypes"] == tuple(types.split())
            assert built[variant]["auto"] is (int(speed) > 0)
            assert built[variant]["shows"] == shows


def test_auto_can_choose():
    for family in FAMILIES:
        rows = [row for (row_family, _), row in VARIANTS.items() if row_family == family]
        speeds = [int(row[7]) for row in rows if int(row[7]) > 0]
        assert speeds, f"{family}: variant='auto' has nothing to take"
        assert len(set(speeds)) == len(speeds), f"{family}: two variants are equally fast"


@pytest.mark.parametrize(("family", "variant"), sorted(FILES.keys() & VARIANTS.keys()))
class TestKernel:
    def test_launch_bounds_are_the_block(self, family, variant):
        row = VARIANTS[family, variant]
        source = FILES[family, variant].read_text()
        bounds = re.findall(r"__launch_bounds__\(\s*(\d+)\s*[,)]", source)
        assert bounds == [str(int(row[2]) * int(row[3]))]

    def test_one_entry_of_the_right_name(self, family, variant):
        source = FILES[family, variant].read_text()
        assert source.count("__global__") == 1
        assert re.search(rf"\b{family}_{variant}\s*\(", source)

    def test_package_data_is_the_file(self, family, variant):
        assert smemkit.source(family, variant) == FILES[family, variant].read_text()

    def test_ptx_has_an_entry_for_every_type(self, family, variant):
        entries = find_entries(smemkit.ptx(family, variant))
        types = VARIANTS[family, variant][6].split()
        assert sorted(entries) == sorted(f"{family}_{variant}_{dtype}" for dtype in types)

    def test_maxntid_is_the_block(self, family, variant):
        row = VARIANTS[family, variant]
        for entry, directives in find_entries(smemkit.ptx(family, variant)).items():
            match = re.search(r"\.maxntid\s+([\d\s,]+)", directives)
            assert match, f"{entry} has no .maxntid"
            assert math.prod(int(n) for n in match[1].split(",")) == int(row[2]) * int(row[3])
