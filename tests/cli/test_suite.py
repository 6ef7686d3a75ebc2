"""profile and check of a folder by its smemkit.toml; JUnit, SARIF and baselines."""

import json
import re
import xml.etree.ElementTree

import pytest
from support.small_kernels import HEAD, LOAD_LINE, STRIDE

import smemkit
from smemkit.__main__ import main
from smemkit.cli import suite_file
from smemkit.cli.errors import UsageError
from smemkit.report import baseline, junit, sarif

jsonschema = pytest.importorskip("jsonschema", reason="needs what pip install '.[test]' brings")

# Each thread adds to the word of its neighbour.
SHIFT = f"""\
{HEAD}.file 1 "{{file}}"
.visible .entry shift(.param .u64 data)
{{{{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    .loc 1 3 5
    ld.global.u32 %r2, [%rd3+4];
    .loc 1 4 5
    st.global.u32 [%rd3], %r2;
    ret;
}}}}
"""
SUITE = """\
[defaults]
block = 32

[[kernel]]
file = "stride.ptx"
case = "no conflicts"
grid = 1
args = ["int32[32]", 1]
claims = ["shared.load.conflicts == 0", "global.store.sectors = 4"]

[[kernel]]
file = "stride.ptx"
name = "stride"
case = "stride 32"
grid = [1]
args = ["int32[32]", 32]
claims = ["shared.load.conflicts == 0"]
tolerance = {"shared.*" = 0.5}
"""
MORE = """
[[kernel]]
file = "shift.ptx"
grid = 1
args = ["int32[33]"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder "kernels" with a suite, in the present folder."""
    monkeypatch.chdir(tmp_path)
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "stride.ptx").write_text(STRIDE)
    (kernels / "shift.ptx").write_text(SHIFT.format(file="kernels/shift.cu"))
    (kernels / "shift.cu").write_text("//\n//\nload(x[i + 1]);\nstore(x[i]);\n")
    (kernels / "smemkit.toml").write_text(SUITE + MORE)
    return kernels


def read_junit(path):
    """{name: (outcome, type, message)} of a file."""
    (suite,) = xml.etree.ElementTree.parse(path).getroot()
    found = {}
    for case in suite:
        (part,) = list(case) or [None]
        facts = (None, None) if part is None else (part.get("type"), part.get("message"))
        found[case.get("name")] = ("passed" if part is None else part.tag, *facts)
    counts = [row[0] for row in found.values()]
    assert int(suite.get("tests")) == len(found)
    assert int(suite.get("failures")) == counts.count("failure")
    assert int(suite.get("errors")) == counts.count("error")
    return found


def test_check_of_a_folder(folder, tmp_path, capsys):
    words = ["check", "kernels", "--junit", "j.xml", "--sarif", "s.sarif"]
    assert main(words) == 1
    said = capsys.readouterr()
    assert (
        "clean     stride.ptx, no conflicts\nclean     stride.ptx: stride, stride 32\n" in said.out
    )
    assert "findings  shift.ptx\n    global_race in shift: " in said.out
    assert said.out.endswith("3 launches: 2 clean, 1 with findings\n")
    assert "smemkit: kernels/smemkit.toml has no launch of shift.cu\n" in said.err
    cases = read_junit(tmp_path / "j.xml")
    assert cases["stride.ptx, no conflicts"] == ("passed", None, None)
    assert cases["shift.ptx"][:2] == ("failure", "global_race")
    (run,) = json.loads((tmp_path / "s.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["global_race"]
    (place,) = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "kernels/shift.cu", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3, "snippet": {"text": "load(x[i + 1]);"}},
    }
    (other,) = result["relatedLocations"]
    assert other["physicalLocation"]["region"]["startLine"] == 4
    assert other["message"]["text"].startswith("the other access: store of args[0]")


def test_known_findings_are_left_out(folder, tmp_path):
    file = folder / "smemkit.toml"
    file.write_text(file.read_text() + 'known = ["global_race"]\n')
    assert main(["check", str(file), "--sarif", "s.sarif"]) == 0
    assert json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"] == []


def test_profile_of_a_folder(folder, tmp_path, capsys):
    words = ["profile", "kernels", "--junit", "j.xml", "--sarif", "s.sarif", "--json", "r.json"]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "right   stride.ptx, no conflicts\n" in said
    assert (
        "wrong   stride.ptx: stride, stride 32\n    shared.load.conflicts == 0: it is 31\n" in said
    )
    assert said.endswith("3 launches: 2 right, 1 wrong\n")
    cases = read_junit(tmp_path / "j.xml")
    assert cases["stride.ptx, no conflicts: global.store.sectors == 4"][0] == "passed"
    failed = "shared.load.conflicts == 0"
    message = f"{failed}: it is 31"
    assert cases[f"stride.ptx: stride, stride 32: {failed}"] == ("failure", "claim", message)
    (run,) = json.loads((tmp_path / "s.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "claim" and run["invocations"] == [{"executionSuccessful": True}]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == LOAD_LINE
    rows = json.loads((tmp_path / "r.json").read_text())["launches"]
    assert [row["outcome"] for row in rows] == ["right", "wrong", "right"]
    assert rows[1]["report"]["counters"]["shared.load.conflicts"] == 31


def test_what_cannot_run_is_an_error(folder, tmp_path, capsys):
    """The others run all the same."""
    (folder / "shift.ptx").write_text(f"{HEAD}.visible .entry shift() {{ nonsense; }}\n")
    words = ["--junit", "j.xml", "--sarif", "s.sarif"]
    assert main(["check", "kernels", *words]) == 2
    assert "failed    shift.ptx\n    " in capsys.readouterr().out
    cases = read_junit(tmp_path / "j.xml")
    assert cases["shift.ptx"][:2] == ("error", "PtxError")
    assert cases["stride.ptx, no conflicts"][0] == "passed"
    (run,) = json.loads((tmp_path / "s.sarif").read_text())["runs"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"] and run["results"] == []
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("shift.ptx: ")


def test_one_launch_of_a_folder(folder, capsys):
    assert main(["check", "kernels", "--kernel", "stride"]) == 0
    assert "2 launches: 2 clean" in capsys.readouterr().out
    assert main(["check", "kernels", "--kernel", "strode"]) == 2
    assert (
        "kernels/smemkit.toml has no launch 'strode'; it has stride.ptx" in capsys.readouterr().err
    )


def test_options_of_one_launch_are_refused(folder, capsys):
    assert main(["check", "kernels", "--grid", "1"]) == 2
    assert "--grid is an option for one launch, which kernels is not" in capsys.readouterr().err
    assert main(["check", "kernels", "--html", "page.html"]) == 2
    assert "--html is an option for one launch" in capsys.readouterr().err


# Baselines ---------------------------------------------------------------------------------------


def test_a_counter_that_moves(folder, tmp_path, capsys):
    words = ["profile", "kernels", "--baseline", "base.json"]
    assert main(words) == 2
    assert "there is no file base.json; --update writes it" in capsys.readouterr().err
    assert main([*words, "--update"]) == 1  # a claim does not hold
    assert "base.json: 3 of 3 launches updated" in capsys.readouterr().err
    file = folder / "smemkit.toml"
    file.write_text(file.read_text().replace('claims = ["shared.load.conflicts == 0"]\n', ""))
    assert main(words) == 0
    # the stride of the first launch, of 1 before
    file.write_text(file.read_text().replace('["int32[32]", 1]', '["int32[32]", 2]'))
    text = file.read_text().replace('claims = ["shared.load.conflicts == 0", ', "claims = [")
    file.write_text(text.replace('["int32[32]", 32]', '["int32[32]", 24]'))
    capsys.readouterr()
    assert main([*words, "--junit", "j.xml", "--sarif", "s.sarif"]) == 1
    said = capsys.readouterr().out
    assert re.search(r"shared\.load\.conflicts +0 +1 +new +0 % +worse\n", said)
    assert "    6 counters have moved, shared.load.wavefronts (+100.0 %) the first:\n" in said
    assert re.search(r"shared\.load\.wavefronts +32 +8 +-75\.0 % +50 % +better\n", said)
    cases = read_junit(tmp_path / "j.xml")
    assert cases["stride.ptx, no conflicts: baseline"][:2] == ("failure", "baseline")
    assert cases["shift.ptx: baseline"][0] == "passed"
    assert json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]


def test_launches_that_come_and_go(folder, capsys):
    file, words = folder / "smemkit.toml", ["profile", "kernels", "--baseline", "base.json"]
    text = SUITE.replace('claims = ["shared.load.conflicts == 0"]\n', "")
    file.write_text(text)
    assert main([*words, "--update"]) == 0
    file.write_text(text.replace("no conflicts", "step 1"))
    capsys.readouterr()
    assert main(words) == 1
    said = capsys.readouterr()
    assert "it is not in the baseline; --update adds it" in said.out
    assert (
        "the baseline has stride.ptx, no conflicts, which kernels/smemkit.toml has not" in said.err
    )
    assert main([*words, "--update", "--kernel", "stride"]) == 0
    kept = baseline.read("base.json")
    assert set(kept) == {
        "stride.ptx, no conflicts",
        "stride.ptx, step 1",
        "stride.ptx: stride, stride 32",
    }
    assert main([*words, "--update"]) == 0
    assert len(baseline.read("base.json")) == 2


def test_tolerances():
    before = {"shared.load.conflicts": 100, "global.load.sectors": 10}
    now = {"shared.load.conflicts": 104, "global.load.sectors": 12, "branch.divergent": 1}
    moved = baseline.compare(before, now, {"shared.*": 0.04, "*": 0.1})
    assert [(one.counter, one.change, one.mark) for one in moved] == [
        ("global.load.sectors", "+20.0 %", "worse"),
        ("branch.divergent", "new", "worse"),
    ]
    assert (
        baseline.find_tolerance("shared.load.conflicts", {"*": 0.1, "shared.load.conflicts": 0})
        == 0
    )
    assert baseline.compare(now, dict(now), {}) == []


def test_a_file_that_is_no_baseline(folder, capsys):
    (folder / "other.json").write_text("[1]")
    assert main(["profile", "kernels", "--baseline", "kernels/other.json"]) == 2
    assert "kernels/other.json is no baseline, which --update writes" in capsys.readouterr().err
    assert main(["profile", "kernels", "--update"]) == 2
    assert "--update writes the file that --baseline names" in capsys.readouterr().err


# One launch --------------------------------------------------------------------------------------


def test_files_of_one_launch(folder, tmp_path, capsys):
    launch = ["--grid", "1", "--block", "32", "--arg", "int32[33]"]
    words = ["kernels/shift.ptx", *launch, "--junit", "j.xml", "--sarif", "s.sarif"]
    assert main(["check", *words]) == 1
    assert read_junit(tmp_path / "j.xml")["shift.ptx"][:2] == ("failure", "global_race")
    assert json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]
    words[-5] = "float32[8]"
    assert main(["check", *words]) == 1
    assert read_junit(tmp_path / "j.xml")["shift.ptx"][:2] == ("failure", "out_of_bounds")
    assert main(["check", "kernels/none.ptx", *words[1:]]) == 2
    assert read_junit(tmp_path / "j.xml")["none.ptx"][:2] == ("error", "UsageError")


def test_baseline_of_one_launch(folder, tmp_path, capsys):
    words = ["profile", "kernels/stride.ptx", "--grid", "1", "--block", "32", "--arg", "int32[32]"]
    base = ["--baseline", "base.json"]
    assert main([*words, "--arg", "1", *base, "--update"]) == 0
    assert main([*words, "--arg", "1", *base]) == 0
    assert main([*words, "--arg", "2", *base, "--fail-on", "shared.load.conflicts>0"]) == 1
    assert "6 counters have moved" in capsys.readouterr().err
    assert (
        main(["profile", "gemm/tiled", "--shape", "32", *base, "--update", "--junit", "j.xml"]) == 0
    )
    assert set(baseline.read("base.json")) == {"stride.ptx", "gemm: tiled"}
    assert read_junit(tmp_path / "j.xml") == {"gemm: tiled": ("passed", None, None)}


# The TOML file -----------------------------------------------------------------------------------

KERNEL = '[[kernel]]\nfile = "a.cu"\ngrid = 1\nblock = 32\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"has no \[\[kernel\]\]"),
        ("kernel = 1", r"has no \[\[kernel\]\]"),
        ("[[kernels]]", "has no table 'kernels'; did you mean kernel"),
        ("[[kernel]\n", "Expected"),
        ('[[kernel]]\nfile = "a.cu"\nblock = 1', r"\[\[kernel\]\] 1 \(a.cu\) has no grid"),
        (KERNEL + "gird = 1", "has no key 'gird'; did you mean grid"),
        ('[defaults]\nfile = "a.cu"\n' + KERNEL, r"\[defaults\] has no key 'file'"),
        (KERNEL.replace("grid = 1", "grid = [1, 2, 3, 4]"), "grid is .*a list of up to three"),
        (KERNEL.replace("grid = 1", "grid = true"), "grid is True"),
        (KERNEL + "args = 5", "args is 5; it needs a list"),
        (KERNEL + "args = [true]", "it needs a list of texts and numbers"),
        (KERNEL + 'claims = ["shared.load.conflict == 0"]', "did you mean shared.load.conflicts"),
        (KERNEL + 'claims = ["fast"]', "'fast' is not a condition"),
        (KERNEL + "tolerance = -1", "tolerance is -1"),
        (KERNEL + 'order = "back"', 'needs "forward" or "reverse" or "both"'),
        (KERNEL + 'known = ["rice"]', "kinds of findings, of out_of_bounds"),
        (KERNEL + "shared_mem = -1", "a whole number, 0 or more"),
        (KERNEL + 'ignore_same_value = "yes"', "true or false"),
        (KERNEL + KERNEL, "two launches are 'a.cu'; case tells them apart"),
        (KERNEL.replace("a.cu", "a.py"), "neither a .cu nor a .ptx file"),
    ],
)
def test_mistakes_of_a_file_are_named(tmp_path, text, said):
    (tmp_path / "smemkit.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        suite_file.read(str(tmp_path))


def test_a_folder_without_a_file(tmp_path):
    (tmp_path / "a.cu").write_text("")
    with pytest.raises(UsageError, match="has no smemkit.toml, .* for its 1 .cu files"):
        suite_file.read(str(tmp_path))
    with pytest.raises(UsageError, match="there is no file .*missing.toml"):
        suite_file.read(str(tmp_path / "missing.toml"))


def test_values_of_all_kernels_and_of_one(tmp_path):
    """A file of an argument lies beside the TOML file."""
    (tmp_path / "smemkit.toml").write_text(
        '[defaults]\nblock = [8, 8]\noptions = "-DN=1"\ntolerance = {"*" = 0.1}\n'
        '[[kernel]]\nfile = "sub/a.cu"\ngrid = 2\nargs = ["@data.npy", 1.5]\nblock = 64\n'
        'tolerance = {"shared.*" = 0}\n[[kernel]]\nfile = "b.cu"\ngrid = 1\nseed = 7\n'
    )
    first, second = suite_file.read(str(tmp_path)).launches
    assert first.path == tmp_path / "sub/a.cu" and first.block == (64,) and second.block == (8, 8)
    assert first.args == (f"@{tmp_path / 'data.npy'}", "1.5") and first.options == ("-DN=1",)
    assert list(first.tolerance.items()) == [("shared.*", 0.0), ("*", 0.1)]
    assert second.seed == 7 and second.tolerance == {"*": 0.1}


# The formats -------------------------------------------------------------------------------------


def test_junit_takes_any_text():
    case = junit.Case("a", "b\x00<&>", 1.5, "failure", "race", "\x1b[31m", "a\nb\ud800")
    root = xml.etree.ElementTree.fromstring(junit.write("s", [case]).encode())
    assert root[0][0].get("name") == "b\ufffd<&>"
    assert root[0][0][0].get("message") == "\ufffd[31m" and root[0][0][0].text == "a\nb\ufffd"


def test_uris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sarif.make_uri("a b/./c.cu") == ("a%20b/c.cu", True)
    assert sarif.make_uri(str(tmp_path / "x.cu")) == ("x.cu", True)
    assert sarif.make_uri("/usr/include/x.h") == ("file:///usr/include/x.h", False)


# The parts of the schema of SARIF 2.1.0 that these files use, in its words.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
SCHEMA = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "required": ["tool"],
                "properties": {
                    "results": {
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "message": TEXT,
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                            },
                        }
                    },
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                },
            },
        },
    },
}


def test_sarif_of_every_rule():
    kinds = [*smemkit._core._finding_kinds(), "claim", "baseline"]
    results = [sarif.Result(kind, "words", sarif.Place("a.cu", 3)) for kind in kinds]
    document = json.loads(sarif.write(results, [sarif.Failure("broken")]))
    jsonschema.validate(document, SCHEMA)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[row["ruleIndex"]]["id"] for row in run["results"]] == kinds
    keys = {row["partialFingerprints"]["smemkit/v1"] for row in run["results"]}
    assert len(keys) == len(kinds)
