"""Random and altered kernels executed every way: some hundreds of each, the same in each run.

What the tests of one opcode or one rule cannot ask is asked here: that a kernel does the same
observed and unobserved, with every instruction set, on one host thread and on several.
differential.py beside this file does it for hours, by fresh seeds.
"""

import json
import random
import re

import pytest
from fuzz import differential, fuzz_kernels, fuzz_statements, fuzz_texts, ptx_forms

SEEDS = 30  # of each part, so that no test takes long on a slow machine


@pytest.fixture(scope="module")
def crew():
    with differential.Crew() as crew:
        yield crew


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("kind", differential.KINDS)
def test_every_way_is_the_same(crew, kind, part):
    drawn = random.Random(f"{kind} {part}")
    seeds = [drawn.randrange(2**40) for _ in range(SEEDS)]
    ended, failures = differential.fuzz(crew, seeds, (kind,))
    assert not failures, "\n".join(failures)
    # most run to their end: cases that are all refused would say nothing
    assert ended.total() == SEEDS and ended["ran"] > 0


def test_a_case_follows_from_its_seed():
    for generate in differential.KINDS.values():
        case = generate(5)
        assert case == generate(5) != generate(6)
        assert json.loads(json.dumps(case)) == case


LOOKS = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry looks(.param .u64 a)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [a];
    shr.u64 %rd2, %rd1, 3;
    st.global.u64 [%rd1], %rd2;
    ret;
}
"""


def test_what_a_kernel_makes_of_an_address_is_no_difference(crew):
    case = {"text": LOOKS, "entry": "looks", "grid": [1], "block": [32], "max_steps": 100}
    case |= {"args": [{"words": 8, "seed": 1}], "origin": "by hand", "clean": True, "fails": False}
    assert crew.differences(case) == []


# The generators ----------------------------------------------------------------------------------


def test_every_arithmetic_opcode_is_made():
    """A form that the simulator refuses is passed over, and so is one refused by mistake."""
    rng = random.Random(1)
    registers = fuzz_statements.Registers(rng, fuzz_statements.COUNTS)
    forms = ptx_forms.arithmetic()
    assert len(forms) > 45
    refused = set()
    for opcode, rows in forms.items():
        for row in rows:
            tries = [ptx_forms.write_instruction(rng, row, registers) for _ in range(40)]
            if not any(fuzz_statements.is_accepted(*words) for words in tries):
                refused.add(opcode)
    assert not refused


WORDS = """
    ld.global ld.shared ld.local ld.const st.global st.shared st.local atom.global red.global
    red.shared cp.async. .v2 .v4 bar.sync barrier.red shfl.sync. vote.sync. match. redux.sync.
    activemask brx.idx call vprintf mma.sync ldmatrix .branchtargets .callprototype trap @!%p .nc
    .volatile
""".split()


def test_kernels_have_everything():
    texts = "".join(fuzz_kernels.generate(seed)["text"] for seed in range(300))
    assert not [word for word in WORDS if word not in texts]


def test_altered_texts_differ_from_theirs():
    rng = random.Random(3)
    texts = fuzz_texts.load_texts()
    assert len(texts) > 100
    for name, text in rng.sample(texts, 20):
        launches = fuzz_texts.list_launches(text)
        assert len(launches) <= text.count(".entry"), name
        assert fuzz_texts.alter(rng, text, 0) == text
        changed = [fuzz_texts.alter(rng, text, 3) for _ in range(5)]
        assert any(other != text for other in changed), name


# The comparison ----------------------------------------------------------------------------------


def outcome(**changes):
    ways = {}
    for name in ("run", "again", "profile", "unmodelled", "check"):
        ways[name] = {"error": None, "memory": ["a"], "printed": "p"}
        if name == "check":
            ways[name] |= {"findings": [], "stopped": None}
        else:
            ways[name] |= {"steps": 7}
        if name in ("profile", "unmodelled"):
            ways[name] |= {"counted": 7, "counters": {"instructions.warp": 7}}
    for name, change in changes.items():
        ways[name] = {**ways[name], **change}
    return ways


CASE = {"text": "add.u32 %r1, %r1, 1;", "clean": True, "fails": False}
RAISED = {"error": ["TrapError", "it trapped"]}
FOUND = {"findings": [["race", 1, "two threads"]]}
DIFFERENT = {
    "memory observed": (outcome(profile={"memory": ["b"]}), "profile: other memory"),
    "memory under check": (outcome(check={"memory": ["b"]}), "check: other memory"),
    "memory the second time": (outcome(again={"memory": ["b"]}), "again: other memory"),
    "text": (outcome(unmodelled={"printed": "q"}), "unmodelled: other printed"),
    "steps": (outcome(profile={"steps": 8, "counted": 8}), "profile: 8 steps, run took 7"),
    "counts": (outcome(profile={"counted": 6}), "profile: counted 6 of 7 steps"),
    "an error": (outcome(profile=RAISED), "profile: error"),
    "a silent check": (outcome(run=RAISED, again=RAISED), "check finds nothing"),
    "a check that fails": (outcome(check=RAISED), "check says"),
    "a false alarm": (outcome(check=FOUND), "finds what is not there"),
    "a right kernel": (outcome(run=RAISED, again=RAISED), "fails although it is right"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_within_a_process_is_seen(name):
    answer, words = DIFFERENT[name]
    found = differential.compare(CASE, {"one": answer}, {"one": 1})
    assert any(words in sentence for sentence in found), found


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("way", ["run", "profile", "check"])
def test_a_difference_between_processes_is_seen(way, threads):
    name = "findings" if way == "check" else "steps"
    other = outcome()
    other[way][name] = [["race", 1, ""]] if way == "check" else 9
    found = differential.compare(CASE, {"one": outcome(), "two": other}, {"one": 1, "two": threads})
    assert f"two against one: {way}: other {name}" in found
    assert not differential.compare(
        CASE, {"one": outcome(), "two": outcome()}, {"one": 1, "two": threads}
    )


def test_a_process_that_dies_is_seen():
    found = differential.compare(
        CASE, {"one": outcome(), "two": {"died": -11}}, {"one": 1, "two": 1}
    )
    assert found == ["two: died of it (-11)"]


def test_what_may_differ():
    """Altered kernels: results by address, by the order of racing blocks, by the last step."""
    case = {**CASE, "clean": False, "fails": True}
    moved = outcome(again={"memory": ["b"]}, profile={"memory": ["c"]})
    assert not differential.compare(case, {"one": moved}, {"one": 1})
    racing, other = outcome(check=FOUND), outcome(check=FOUND)
    for way in other.values():
        way["memory"] = ["z"]
    assert not differential.compare(case, {"one": racing, "two": other}, {"one": 1, "two": 4})
    assert differential.compare(case, {"one": racing, "two": other}, {"one": 1, "two": 1})


def test_a_fence_is_a_step_where_it_is_observed():
    spent, later = (["StepBudgetError", f"at PTX line {line}"] for line in (9, 11))
    ways = {name: {"error": spent} for name in ("run", "again", "check")}
    ways |= {name: {"error": later} for name in ("profile", "unmodelled")}
    case = {**CASE, "fails": True}
    for text, same in (("add.u32 %r1, %r1, 1;", False), ("membar.gl;", True)):
        found = differential.compare({**case, "text": text}, {"one": outcome(**ways)}, {"one": 1})
        assert (not found) == same, found
        checked = outcome(check={"error": later})
        found = differential.compare({**case, "text": text}, {"one": checked}, {"one": 1})
        assert (not found) == same, found


class OneLine:
    """In place of a crew: a text differs as long as it has this line."""

    def differences(self, case):
        return ["one: profile: 9 steps, run took 7"] if "bad" in case["text"].split("\n") else []


def test_a_case_is_made_smaller():
    lines = [f"line {i}" for i in range(50)]
    lines.insert(33, "bad")
    case = {**CASE, "text": "\n".join(lines)}
    differences = OneLine().differences(case)
    assert differential.reduce_case(OneLine(), case, differences)["text"] == "bad"


def test_a_kept_case_is_found_again(tmp_path, crew, capsys):
    case = fuzz_kernels.generate(1)
    path = differential.keep(tmp_path, case, ["x"], {**case, "text": "short"})
    assert path.with_suffix(".ptx").read_text() == "short"
    assert not differential.read_case(crew, path)
    assert re.search("nothing differs", capsys.readouterr().out)
