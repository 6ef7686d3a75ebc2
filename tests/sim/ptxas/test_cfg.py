"""Reconvergence of lanes on graphs drawn by hand (csrc/sim/ptxas/cfg.c, compiled by itself)."""

import ctypes
import shlex
import subprocess
import sysconfig

import pytest
from support.paths import ROOT

SOURCES = ["sim/ptxas/cfg.c", "ptx/opcode.c"]
SOURCES += [f"base/{name}.c" for name in ("arena", "heap", "poll", "status")]
STAYS, RETURNS, EXITS = 0, 1, 2
NEVER = None


class Graph(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_uint32),
        ("start", ctypes.POINTER(ctypes.c_uint32)),
        ("successor", ctypes.POINTER(ctypes.c_uint32)),
        ("end", ctypes.POINTER(ctypes.c_uint8)),
    ]


@pytest.fixture(scope="module")
def solve(tmp_path_factory):
    library = tmp_path_factory.mktemp("cfg") / "cfg.so"
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    sources = [str(ROOT / "csrc" / source) for source in SOURCES]
    command = [*compiler, "-std=gnu11", "-O1", "-fPIC", "-shared", f"-I{ROOT / 'csrc'}", *sources]
    subprocess.run([*command, "-o", library], check=True, timeout=120)
    postdominate = ctypes.CDLL(str(library)).smk_cfg_postdominate

    def run(successors, ends):
        """successors: a list for each node; ends: {node: RETURNS or EXITS}."""
        flat = [node for nodes in successors for node in nodes]
        starts = [sum(map(len, successors[:i])) for i in range(len(successors) + 1)]
        count = len(successors)
        graph = Graph(
            count,
            (ctypes.c_uint32 * (count + 1))(*starts),
            (ctypes.c_uint32 * max(1, len(flat)))(*flat),
            (ctypes.c_uint8 * count)(*[ends.get(i, STAYS) for i in range(count)]),
        )
        postdominator = (ctypes.c_uint32 * count)()
        assert postdominate(ctypes.byref(graph), postdominator, None) == 0
        return [NEVER if node == 2**32 - 1 else node for node in postdominator]

    return run


def test_straight_line(solve):
    assert solve([[1], [2], []], {2: RETURNS}) == [1, 2, NEVER]


def test_if(solve):
    assert solve([[1, 2], [2], []], {2: RETURNS})[0] == 2


def test_if_else(solve):
    assert solve([[1, 2], [3], [3], []], {3: RETURNS}) == [3, 3, 3, NEVER]


def test_nested_if(solve):
    #     0 -> 1 | 5;  1 -> 2 | 3;  2, 3 -> 4;  4 -> 5
    assert solve([[1, 5], [2, 3], [4], [4], [5], []], {5: EXITS}) == [5, 4, 4, 4, 5, NEVER]


def test_loop_meets_behind_itself(solve):
    # 0 -> 1 (head);  1 -> 1 | 2
    assert solve([[1], [1, 2], []], {2: RETURNS}) == [1, 2, NEVER]


def test_break_and_continue(solve):
    # 1 head: 1 -> 2;  2 -> 5 (break) | 3;  3 -> 1 (continue) | 4;  4 -> 1 | 5
    postdominators = solve([[1], [2], [5, 3], [1, 4], [1, 5], []], {5: RETURNS})
    assert postdominators == [1, 2, 5, 5, 5, NEVER]


def test_two_returns_of_a_function_meet_behind_it(solve):
    # if (x) return; rest: lanes that return wait for the others behind the function's end
    assert solve([[1, 2], [], []], {1: RETURNS, 2: RETURNS}) == [NEVER, NEVER, NEVER]


def test_early_exit_of_a_kernel_does_not_part_the_others(solve):
    # if (z) { if (x) return; b } c: the others meet at c although some lanes never come there
    #  0 -> 1 | 4;  1 -> 2 | 3;  2 exit;  3 -> 4;  4 exit
    postdominators = solve([[1, 4], [2, 3], [], [4], []], {2: EXITS, 4: EXITS})
    assert postdominators[0] == 4 and postdominators[1] == 3 and postdominators[3] == 4


def test_branches_of_a_doomed_path_meet_on_it(solve):
    # 0 -> 1 | 5;  1 -> 2 | 3;  2, 3 -> 4;  4 exit;  5 exit (the last, which the others run to)
    postdominators = solve([[1, 5], [2, 3], [4], [4], [], []], {4: EXITS, 5: EXITS})
    assert postdominators[:4] == [5, 4, 4, 4]


def test_exit_in_both_branches(solve):
    assert solve([[1, 2], [], []], {1: EXITS, 2: EXITS}) == [2, NEVER, NEVER]


def test_trap_beside_a_return(solve):
    # a function: if (bad) trap; rest; return
    assert solve([[1, 2], [], [3], []], {1: EXITS, 3: RETURNS})[0] == 2


def test_endless_loop_beside_an_exit(solve):
    # 0 -> 1 | 3;  1 -> 2;  2 -> 1 (for ever);  3 exit
    postdominators = solve([[1, 3], [2], [1], []], {3: EXITS})
    assert postdominators[0] == 3 and postdominators[1] == 2


def test_endless_loop_alone(solve):
    assert solve([[0]], {}) == [NEVER]


def test_irreducible(solve):
    # 0 -> 1 | 2;  1 -> 2 | 3;  2 -> 1 | 3
    assert solve([[1, 2], [2, 3], [1, 3], []], {3: RETURNS}) == [3, 3, 3, NEVER]


def test_switch(solve):
    cases = [[1, 2, 3, 4], [5], [5], [4], [5], []]
    assert solve(cases, {5: RETURNS}) == [5, 5, 5, 4, 5, NEVER]


def test_against_sets(solve, rng):
    """Random graphs: the first common node of all paths, by plain set iteration."""
    for _ in range(200):
        count = int(rng.integers(2, 12))
        successors = [
            sorted({int(node) for node in rng.integers(0, count, rng.integers(1, 3))})
            for _ in range(count - 1)
        ] + [[]]
        postdominators = solve(successors, {count - 1: RETURNS})
        reach = {count - 1}
        while True:
            more = {i for i in range(count) if set(successors[i]) & reach} | reach
            if more == reach:
                break
            reach = more
        sets = {i: set(reach) for i in reach}
        sets[count - 1] = {count - 1}
        changed = True
        while changed:
            changed = False
            for i in reach - {count - 1}:
                new = {i} | set.intersection(*(sets[j] for j in successors[i] if j in reach))
                changed |= new != sets[i]
                sets[i] = new
        for i in reach - {count - 1}:
            strict = sets[i] - {i}
            nearest = max(strict, key=lambda node: len(sets[node]))
            assert postdominators[i] == nearest, (successors, i)
