"""The words of csrc: the field's words, names that tell their file, one owner for each name."""

import collections
import re

import pytest
from support.paths import CSRC

# The folders whose words these tests hold; csrc/py has a test of its own in test_house.py.
FOLDERS = ("base", "ptx", "registry", "gpu", "sim")

# Words that no name may have as a part, and the field's word that stands there instead. A name is
# the identifier of a type, function, field, variable, or the name of a file.
RETIRED = {
    "meet meets met meeting meetings": "reconvergence; sync; overlap",
    "vanish vanishes vanished": "exit",
    "hear hears heard": "acquire",
    "tell tells told": "release, report",
    "place places placed": "instruction_id, slot, offset, index, location, host address",
    "span spans": "allocation; interval",
    "recent": "allocation cache",
    "crew": "worker pool",
    "pace": "efficiency",
    "shows": "summary",
    "shelf shelves": "kernel group",
    "who whom": "thread, warp, block",
    "what": "the noun of the thing",
    "one": "the noun of the thing",
    "absent absence": "stub; missing; suspended call",
    "turns": "persistent; blocks_per_multiprocessor",
    "stray strays": "bounds",
    "former": "previous; race_report",
    "stuck": "livelock",
    "spin": "atomic_loop",
    "tally tallies": "access_cost",
    "fuse": "fusion",
    "initial": "initializer",
}
NAMES = {word: better for words, better in RETIRED.items() for word in words.split()}
# A word that means something else in a file: turns of a circle.
OTHER_SENSES = {("sim/exec/alu_approx.h", "turns")}

# Names that are retired as a whole: of files, and of variables.
FILES = {
    "absent": "stub",
    "align": "value_numbering",
    "async": "cp_async",
    "blocks": "race_grid",
    "check": "verify (in ptx)",
    "copy": "async_cost",
    "exchange": "warp_exchange",
    "finish": "resolve",
    "fixed": "constant_rows",
    "fuse_flow": "memory_flow",
    "order": "happens_before",
    "print": "printer (in ptx), printf (in sim)",
    "rows": "register_layout",
    "wide": "race_warp",
}
ITS_OWN = {"sim/check/check.c", "sim/check/check.h"}

# Words that no comment may have: riddles, where a sentence has the noun of the thing.
PROSE = {
    "vanish vanishes vanished": "exit",
    "hear hears heard told": "acquire, release, report",
    "crew": "worker pool",
    "stray strays": "out of bounds, bad access",
    "tally tallies": "cost, sum",
    "whom whoever nobody somebody": "the thread, warp or caller that is meant",
    "doings": "operations, accesses",
    "meeting": "reconvergence point, barrier",
    "shelf shelves": "kernel group",
}
RIDDLES = {word: better for words, better in PROSE.items() for word in words.split()}

SEGMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def list_files(*patterns):
    for folder in FOLDERS:
        for pattern in patterns:
            yield from sorted((CSRC / folder).rglob(pattern))


def drop_comments_and_texts(text):
    return SEGMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def find_retired_names(name, text):
    """["file:line: word in name; the field says ..."] of a file's code, and of its name."""
    path = name.rsplit("/", 1)[-1].split(".")[0]
    found = []
    if path in FILES and name not in ITS_OWN:
        found.append(f"{name}: call the file {FILES[path]}")
    words = [(path, 0)]
    for number, line in enumerate(drop_comments_and_texts(text).splitlines(), 1):
        words += [(word, number) for word in re.findall(r"\b[A-Za-z_]\w*\b", line)]
    for identifier, number in words:
        for word in identifier.split("_"):
            if word in NAMES and (name, word) not in OTHER_SENSES:
                found.append(f"{name}:{number}: {identifier}: not {word}, but {NAMES[word]}")
    for number, line in enumerate(drop_comments_and_texts(text).splitlines(), 1):
        if re.search(r"\w \*j\b", line):
            found.append(f"{name}:{number}: j is a number, not the name of a thing")
        if re.search(r"\bLANES\b", line):
            found.append(f"{name}:{number}: not LANES, but SMK_WARP_SIZE")
    return found


def find_riddles(name, text):
    found = []
    for comment in SEGMENT.finditer(text):
        if comment[0].startswith("/"):
            for word in re.findall(r"\b[a-z]+\b", comment[0].lower()):
                if word in RIDDLES:
                    line = text.count("\n", 0, comment.start()) + 1
                    found.append(f"{name}:{line}: not '{word}', but {RIDDLES[word]}")
    return found


def list_functions(text):
    """Functions that other files can call, of a C file; inline functions of a header."""
    code = re.sub(r"^\s*#.*(\\\n.*)*", "", drop_comments_and_texts(text), flags=re.MULTILINE)
    head = r"^(?!static|typedef|return)(?:\w+[\s*]+)+(smk_\w+)\((?:[^()]|\([^()]*\))*\)\s*\{"
    inline = r"^(?:static inline|SMK_ALWAYS_INLINE)\s[\w\s*]*?\b(smk_\w+)\("
    return re.findall(head, code, re.MULTILINE) + re.findall(inline, code, re.MULTILINE)


def tells_file(function, stem):
    """smk_<file>_<verb>; of a family of files, race_grid.c and its like, smk_race_<verb> too."""
    words = stem.split("_")
    return any(function.startswith(f"smk_{'_'.join(words[:n])}_") for n in range(1, len(words) + 1))


def list_definitions(text):
    """(kind, name) of each type that a file defines; a forward declaration is none."""
    code = drop_comments_and_texts(text)
    for tag in re.findall(r"^(?:typedef )?(?:struct|union|enum) (smk_\w+) \{", code, re.MULTILINE):
        yield "tag", tag
    for name in re.findall(r"^\} (smk_\w+);", code, re.MULTILINE):
        yield "type", name


def find_doubles(files):
    """{(kind, name): files} of names that stand in several of {file: text}."""
    owners = collections.defaultdict(list)
    for name, text in files.items():
        for definition in list_definitions(text):
            owners[definition].append(name)
    return {definition: names for definition, names in owners.items() if len(names) > 1}


def read_sources(*patterns):
    paths = list_files(*patterns)
    return {path.relative_to(CSRC).as_posix(): path.read_text(encoding="utf-8") for path in paths}


# The code ----------------------------------------------------------------------------------------


def test_names_are_the_words_of_the_field():
    sources = read_sources("*.c", "*.h", "*.def")
    assert len(sources) > 150
    found = [line for name, text in sources.items() for line in find_retired_names(name, text)]
    assert not found, "\n".join(found)


def test_comments_have_no_riddles():
    sources = read_sources("*.c", "*.h", "*.def")
    found = [line for name, text in sources.items() for line in find_riddles(name, text)]
    assert not found, "\n".join(found)


def test_files_begin_with_their_purpose():
    """The first comment of a .c file may be that of its header."""
    without = []
    for path in list_files("*.c", "*.h", "*.def"):
        begins = path.read_text(encoding="utf-8").startswith("/*")
        if not begins and not (path.suffix == ".c" and path.with_suffix(".h").is_file()):
            owners = [other for other in CSRC.rglob(f"{path.stem}.h") if other != path]
            if not owners:
                without.append(path.relative_to(CSRC).as_posix())
    assert not without


def test_functions_tell_their_file():
    # gpu/stub.c has all functions of the other files; those of alu.def have PTX's names.
    other = {"gpu/stub.c", "sim/exec/alu_math.h", "sim/exec/alu_approx.h", "sim/exec/convert.h"}
    seen, wrong = 0, []
    for name, text in read_sources("*.c", "*.h").items():
        for function in list_functions(text) if name not in other else ():
            seen += 1
            if not tells_file(function, name.rsplit("/", 1)[-1].split(".")[0]):
                wrong.append(f"{name}: {function}")
    assert not wrong, "\n".join(wrong)
    assert seen > 300


def test_no_type_stands_twice():
    files = {
        path.relative_to(CSRC).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(CSRC.rglob("*.[ch]"))
    }
    doubles = find_doubles(files)
    # what a backend loads: opaque, and each backend defines its own
    doubles.pop(("tag", "smk_backend_code"), None)
    assert not doubles


def test_file_names_have_one_owner():
    """A name may stand in several folders of one layer, as image.h and image.c do, in no two."""
    owners = collections.defaultdict(set)
    for path in [*list_files("*.c", "*.h"), *sorted((CSRC / "py").rglob("*.[ch]"))]:
        owners[path.stem].add(path.relative_to(CSRC).parts[0])
    twice = {stem: sorted(layers) for stem, layers in owners.items() if len(layers) > 1}
    # base has the data of a launch, gpu launches; a module is PTX in ptx, and Python's in py
    known = {"launch": ["base", "gpu"], "module": ["ptx", "py"]}
    assert twice == known


# What the tests see ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("sim/exec/warp.c", "control->meet = NULL;", "reconvergence"),
        ("sim/exec/grid.c", "typedef struct crew crew;", "worker pool"),
        ("sim/check/race.c", "static void f(smk_warp_access *j)", "j is a number"),
        ("sim/check/race.c", "uint32_t wrong_place = 0;", "instruction_id"),
        ("sim/exec/alu.c", "enum { LANES = 32 };", "SMK_WARP_SIZE"),
        ("sim/check/stray.c", "", "bounds"),
        ("ptx/check.c", "", "verify"),
        ("sim/check/check.c", "", None),
        ("sim/exec/alu_approx.h", "double turns = 0.0;", None),
        ("sim/exec/mma_math.h", "d[8 * j + i] = x * j;", None),
        ("sim/exec/warp.c", '/* in place of */ puts("what meets");', None),
        ("sim/exec/warp.c", "uint64_t space = 0, spinning = 0;", None),
    ],
)
def test_retired_name_is_found(name, text, found):
    lines = find_retired_names(name, text)
    assert (found in lines[0]) if found else not lines, lines


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/* Whoever sleeps waits for others. */", True),
        ("int x; // its lanes\n/* Lanes vanish\n * here. */", True),
        ("/* Values in place of others; two words meet in a bank. */", False),
        ('const char *text = "nobody";', False),
    ],
)
def test_riddle_is_found(text, found):
    assert bool(find_riddles("sim/exec/warp.c", text)) == found


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("bounds", "bool smk_race_bounds(int a)\n{\n", ["smk_race_bounds"]),
        ("bounds", "bool smk_bounds_check(int a)\n{\n", []),
        ("race_note", "void smk_race_note_row(void (*f)(int))\n{\n", []),
        ("race_note", "void smk_race_check(void)\n{\n", []),
        ("bits", "static inline int smk_bit_first(int a)\n{\n", ["smk_bit_first"]),
        ("warp", "static int smk_local(int a)\n{\n", []),
        ("warp", "int smk_other_use(int a);\n", []),
    ],
)
def test_function_of_another_file_is_found(name, text, wrong):
    assert [f for f in list_functions(text) if not tells_file(f, name)] == wrong


def test_second_definition_is_found():
    forward = "typedef struct smk_image smk_image;\nstruct smk_image;\n"
    first = "typedef struct smk_image {\n    int a;\n} smk_image;\n"
    assert find_doubles({"a.h": first, "b.h": forward}) == {}
    assert find_doubles({"a.h": first, "b.h": first}) == {
        ("tag", "smk_image"): ["a.h", "b.h"],
        ("type", "smk_image"): ["a.h", "b.h"],
    }


def test_files_of_the_map_are_named_as_they_stand():
    """Comments name files of csrc by names that exist."""
    known = {path.name for path in CSRC.rglob("*.*")}
    known |= {"cuda_runtime_api.h", "cuda_occupancy.h", "math.h"}
    wrong = []
    for name, text in read_sources("*.c", "*.h", "*.def").items():
        for comment in SEGMENT.finditer(text):
            if comment[0].startswith("/"):
                for file in re.findall(r"(?<![\w/.*<>])([a-z]\w*\.(?:c|h|def))\b", comment[0]):
                    if file not in known:
                        wrong.append(f"{name}: {file}")
    assert not wrong, "\n".join(wrong)
