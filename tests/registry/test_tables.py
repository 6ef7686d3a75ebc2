"""The tables: every row has its kernel file, every file its row, and their numbers agree."""

import math
import re

import pytest
from support.paths import CSRC
from support.tables import FAMILIES, KERNEL_GROUPS, PARTS, VARIANTS, list_entries

import smemkit

KERNELS = CSRC / "kernels"

FILES = {(path.parent.name, path.stem): path for path in sorted(KERNELS.glob("*/*.cu"))}


# Parts whose blocks are not those of the kernel that they stand beside.
OTHER_BLOCKS = {
    "gemm_vector_stripe": 512,
    "gemm_vector_slant": 512,
    "gemm_vector_narrow": 512,
    "gemm_vector_across": 512,
    "gemm_dmma_large": 256,
    "gemm_direct_broad": 256,
    "gemm_direct_joint": 256,
    "gemm_direct_broad_quads": 256,
    "gemm_direct_joint_quads": 256,
    "gemm_fma_row": 256,
    "gemm_fma_rows4": 256,
    "gemm_fma_rows8": 256,
    "gemm_lean_tall": 128,
    "gemm_lean_upright": 128,
    "gemm_lean_broad": 128,
    "gemm_lean_square": 128,
    "gemm_lean_wide": 128,
    "gemm_lean_panel": 128,
    "gemm_lean_rows2": 256,
    "gemm_lean_rows4": 256,
    "gemm_lean_rows8_wide": 256,
}


def names(pairs):
    return ", ".join(f"{family}/{variant}" for family, variant in sorted(pairs))


def find_entries(ptx):
    """Entry name -> the text from its name to its body."""
    found = re.findall(r"\.entry\s+([\w$]+)\s*(\(.*?\))?([^{]*)\{", ptx, flags=re.DOTALL)
    return {name: directives for name, _, directives in found}


def count_threads(row, part=""):
    """Of a block of a row's kernel, or of one of the parts beside it."""
    name = "_".join(word for word in (row["family"], row["name"], part) if word)
    return OTHER_BLOCKS.get(name, int(row["block_x"]) * int(row["block_y"]))


def test_every_kernel_file_has_a_row():
    missing = FILES.keys() - VARIANTS.keys()
    assert not missing, f"no row in csrc/registry/variants.def for csrc/kernels: {names(missing)}"


def test_every_row_has_a_kernel_file():
    missing = VARIANTS.keys() - FILES.keys()
    assert not missing, f"no file csrc/kernels/<family>/<variant>.cu for the rows: {names(missing)}"


def test_every_row_has_a_family_and_every_family_a_row():
    known = {*FAMILIES, *KERNEL_GROUPS}
    assert {family for family, _ in VARIANTS} == known
    folders = {path.name for path in KERNELS.iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == known  # Python may have compiled what builds the kernels


def test_the_built_module_has_the_same_tables():
    assert list(smemkit.families()) == [*FAMILIES, *KERNEL_GROUPS], (
        "the module is older than families.def"
    )
    for family, facts in smemkit.families().items():
        assert facts["signature"] == FAMILIES.get(family, {}).get("signature")
        rows = [row for (row_family, _), row in VARIANTS.items() if row_family == family]
        assert list(facts["variants"]) == [row["name"] for row in rows]
        built = smemkit.variants(family)
        assert list(built) == [row["name"] for row in rows], "the module is older than variants.def"
        for row in rows:
            facts = built[row["name"]]
            assert facts["block"] == (int(row["block_x"]), int(row["block_y"]))
            assert facts["tile"] == (int(row["tile_x"]), int(row["tile_y"]))
            assert facts["dtypes"] == tuple(row["types"].split())
            assert facts["compute_capability"] == f"{row['arch'][:-1]}.{row['arch'][-1]}"
            assert facts["auto"] is (int(row["speed"]) > 0)
            assert facts["shows"] == row["summary"]


def test_operations():
    sizes = (2, 3, 5, 7)  # in the order of the signature
    for family, row in FAMILIES.items():
        expected = eval(row["flops"], {"d": sizes})
        assert smemkit._core._flops(family, sizes) == expected, family
    assert smemkit._core._flops("gemm", (2, 3, 5)) == 2 * 2 * 3 * 5
    for name in (*KERNEL_GROUPS, "gem"):
        with pytest.raises(smemkit.ArgumentError, match=name):
            smemkit._core._flops(name, (2,))


TENSOR_TYPES = {
    "float16",
    "bfloat16",
    "int8",
    "tf32",
}  # of tensor cores, which sm_75 has in part only


def test_auto_can_choose():
    for family in FAMILIES:
        rows = [row for (row_family, _), row in VARIANTS.items() if row_family == family]
        speeds = [int(row["speed"]) for row in rows if int(row["speed"]) > 0]
        assert speeds, f"{family}: variant='auto' has nothing to take"
        assert len(set(speeds)) == len(speeds), f"{family}: two variants are equally fast"
        anywhere = {word for row in rows for word in row["types"].split() if row["arch"] == "75"}
        words = {word for row in rows for word in row["types"].split()}
        assert anywhere == words - TENSOR_TYPES, family


@pytest.mark.parametrize(("family", "variant"), sorted(FILES.keys() & VARIANTS.keys()))
class TestKernel:
    def test_launch_bounds_are_the_block(self, family, variant):
        row = VARIANTS[family, variant]
        source = FILES[family, variant].read_text()
        bounds = re.findall(r"__launch_bounds__\(\s*(\d+)\s*(?:,.*?)?\)\s+(\w+)\(", source)
        assert len(bounds) == source.count("__launch_bounds__")
        main = f"{family}_{variant}"
        for threads, name in bounds:
            part = name.removeprefix(main).removeprefix("_")
            assert int(threads) == count_threads(row, part), name

    def test_one_kernel_and_its_parts(self, family, variant):
        source = FILES[family, variant].read_text()
        heads = re.findall(r"__global__\s+void\s+__launch_bounds__\(.*?\)\s+(\w+)\(", source)
        parts = PARTS.get((family, variant), [])
        assert source.count("__global__") == len(heads)
        assert sorted(heads) == sorted("_".join((family, variant, *p)) for p in ((), *zip(parts)))

    def test_package_data_is_the_file(self, family, variant):
        assert smemkit.source(family, variant) == FILES[family, variant].read_text()

    def test_ptx_has_an_entry_for_every_type(self, family, variant):
        entries = find_entries(smemkit.ptx(family, variant))
        parts = ["", *PARTS.get((family, variant), [])]
        expected = [name for part in parts for name in list_entries(family, variant, part)]
        assert sorted(entries) == sorted(expected)

    def test_maxntid_is_the_block(self, family, variant):
        row = VARIANTS[family, variant]
        parts = ["", *PARTS.get((family, variant), [])]
        owners = {name: part for part in parts for name in list_entries(family, variant, part)}
        for entry, directives in find_entries(smemkit.ptx(family, variant)).items():
            match = re.search(r"\.maxntid\s+([\d\s,]+)", directives)
            assert match, f"{entry} has no .maxntid"
            threads = count_threads(row, owners[entry])
            assert math.prod(int(n) for n in match[1].split(",")) == threads
