"""The maker of mutants: what it changes, what it leaves alone, and what it counts."""

import json

import pytest
from mutants import c_mutations, mutate_c
from mutants.which_tests import RULES, WIDER, find_tests

SMALL = """\
/* a < b in a comment */
#define LIMIT (1 < 2)
static const int table[3] = {1, 2, 3};
enum { COUNT = 4 };

static int first(const int *a, int n)
{
    int most = 0; // a + b
    const char *text = "x < y && z";
    for (int i = 0; i < n; i++) {
        if (a[i] > most && n != 7) {
            most = a[i];
        }
    }
    note(most);
    return most + 1;
}
"""


def list_small():
    return c_mutations.list_mutations("small.c", SMALL)


def test_mutations_of_a_small_text():
    lines = {(m.line, m.kind, m.after.strip()) for m in list_small()}
    assert {line for line, _, _ in lines} == {8, 10, 11, 12, 15, 16}
    assert (10, "sign", "for (int i = 0; i <= n; i++) {") in lines
    assert (10, "constant", "for (int i = 1; i < n; i++) {") in lines
    assert (11, "sign", "if (a[i] > most || n != 7) {") in lines
    assert (11, "sign", "if (a[i] >= most && n != 7) {") in lines
    assert (11, "condition", "if (!(a[i] > most && n != 7)) {") in lines
    assert (12, "statement", ";") in lines
    assert (15, "statement", ";") in lines
    assert (16, "sign", "return most - 1;") in lines


def test_a_mutation_changes_one_line():
    source = c_mutations.Source("small.c", SMALL)
    for mutation in list_small():
        old, new = SMALL.split("\n"), source.apply(mutation).split("\n")
        assert [i + 1 for i in range(len(old)) if old[i] != new[i]] == [mutation.line]


def test_signs_of_one_operand_stay():
    text = "int f(int *p)\n{\n    g(&x, *p, -1);\n    return -n;\n}\n"
    kinds = [(m.line, m.kind) for m in c_mutations.list_mutations("f.c", text)]
    assert (3, "sign") not in kinds and (4, "sign") not in kinds


SAME = """\
int f(const int *a, int n)
{
    int least = n - 1 < a[0] ? n - 1 : a[0], count = sizeof a[0];
    int most = a[0] >= n ? a[0] : n;
    int other = n < 3 ? n : 4;
    switch (n) {
    case 1:
        g(n);
        break;
    case 2:
        if (most) {
            break;
        }
        break;
    default:
        break;
    }
}
"""


def test_changes_that_change_nothing_are_left_out():
    found = {(m.line, m.after.strip()) for m in c_mutations.list_mutations("f.c", SAME)}
    assert not [after for _, after in found if "<= a[0]" in after or "a[0] > n" in after]
    assert not [after for _, after in found if "sizeof a[1]" in after]
    assert any("> a[0]" in after for _, after in found if "least" in after)
    assert (5, "int other = n <= 3 ? n : 4;") in found
    assert {line for line, after in found if after == ";"} == {8, 9, 12}


def test_initialisers_stay():
    text = "void f(void)\n{\n    int a[2] = {1 + 2, 3};\n    b = (pair){1, 2};\n    c = 1;\n}\n"
    found = [m.after.strip() for m in c_mutations.list_mutations("f.c", text)]
    assert not any("4}" in line or "1 - 2" in line for line in found)
    assert "c = 2;" in found


def test_the_choice_follows_from_the_seed():
    chosen = mutate_c.choose(40, 5, None)
    assert chosen == mutate_c.choose(40, 5, None) != mutate_c.choose(40, 6, None)
    layers = [mutation.path.split("/")[1] for mutation in chosen]
    assert layers.count("sim") == 20
    assert len({(mutation.path, mutation.line) for mutation in chosen}) == len(chosen)
    assert all(m.path.startswith("csrc/ptx/") for m in mutate_c.choose(9, 5, "csrc/ptx/"))


def test_every_file_has_tests_that_know_it():
    for layer in mutate_c.SHARES:
        for path in sorted((mutate_c.ROOT / "csrc" / layer).rglob("*.c")):
            name = str(path.relative_to(mutate_c.ROOT))
            assert find_tests(name, mutate_c.ROOT), name


def test_the_tests_are_there():
    names = [name for _, tests in RULES for name in tests.split() if "{1}" not in name]
    assert not [name for name in {*names, *WIDER} if not (mutate_c.ROOT / name).exists()]


def test_named_ones_are_there():
    assert len(mutate_c.list_named()) == len(mutate_c.NAMED)


def test_equivalent_ones_have_reasons():
    for name, reason in mutate_c.read_equivalents().items():
        assert " -> " in name and len(reason.split()) > 3, name


@pytest.mark.parametrize(("killed", "good"), [(19, True), (18, False)])
def test_the_share(killed, good, capsys):
    row = {"name": "a.c: x -> y", "path": "a.c", "line": 1}
    rows = [{**row, "result": "killed"}] * killed + [{**row, "result": "survived"}] * (20 - killed)
    rows += [{**row, "result": "unbuildable"}] * 5
    assert mutate_c.report(rows) == good
    assert f"{killed} of 20 killed: {5 * killed:.1f} %" in capsys.readouterr().out


def test_what_is_judged_is_kept(tmp_path):
    path = tmp_path / "rows.jsonl"
    assert mutate_c.read_judged(path) == {}
    row = {"path": "a.c", "before": "x", "after": "y", "result": "killed"}
    path.write_text(json.dumps(row) + "\n")
    assert mutate_c.read_judged(path) == {("a.c", "x", "y"): row}
