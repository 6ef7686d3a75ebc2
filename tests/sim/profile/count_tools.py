"""For tests of counters: a kernel profiled through the inner door, and what always holds."""

from support.handmade import load

from smemkit import _core

ROWS = {row["name"]: row for row in _core._counters()}
SUMS = {name for name, row in ROWS.items() if not row["ratio"]}


def profile(text, *args, grid=1, block=32, name="k", model=False, blocks=0, **options):
    """The facts of the one launch."""
    kernel = load(text, name)
    _, launches = _core._capture("profile", kernel, (grid, block, args), options, blocks, model)
    assert len(launches) == 1
    check_sums(launches[0])
    return launches[0]


def check_sums(launch):
    """Totals are the sums of lines, and of instructions."""
    for name in SUMS:
        total = launch["counters"][name]
        assert total == sum(line["counters"][name] for line in launch["lines"])
        assert total == sum(one["counters"].get(name, 0) for one in launch["instructions"])
    for table in [launch["counters"], *(line["counters"] for line in launch["lines"])]:
        assert table.keys() == ROWS.keys()


def check(launch, prefix, **expected):
    """Exactly these counters of a prefix are not 0."""
    found = {
        name[len(prefix) + 1 :]: value
        for name, value in launch["counters"].items()
        if name.startswith(prefix + ".") and name in SUMS and value != 0
    }
    expected = {name: value for name, value in expected.items() if value != 0}
    assert found == expected, f"{prefix}: counted {found}, expected {expected}"


def check_absent(launch, *prefixes):
    for prefix in prefixes:
        check(launch, prefix)
