"""Changes in existing PTX: every kernel of the package and of the tests, with a few lines altered.

What comes out may race, stray or never end. It is launched on buffers of a fixed size with numbers
made up for it, so the simulator must bear it; whatever it says must be the same every way.
"""

import functools
import gzip
import random
import re

from support.paths import TESTS

import smemkit

FOLDERS = ("programs/ptx", "hardware/counts/ptx", "fuzz/corpus")
ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{]*)\{")
PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)[^,\[]*(\[)?")
INSTRUCTION = re.compile(r"^\s*(?:@!?[%\w$]+\s+)?[a-z][\w.:]*\s*[^:]*;\s*(?://.*)?$")
REGISTER = re.compile(r"%(?:[a-z]+)\d+")
NUMBER = re.compile(r"(?<![\w.%$])(\d+)(?![\w.])")
TYPES = [
    ["u32", "s32", "b32", "f32"],
    ["u64", "s64", "b64", "f64"],
    ["u16", "s16", "b16"],
    ["lt", "le", "gt", "ge", "eq", "ne"],
    ["add", "sub", "min", "max"],
    ["and", "or", "xor"],
    ["shl", "shr"],
    ["mul", "mad"],
    ["lo", "hi", "wide"],
    ["v2", "v4"],
    ["rn", "rz", "rm", "rp"],
    ["up", "down", "bfly", "idx"],
    ["all", "any", "uni"],
    ["global", "shared", "local"],
    ["ca", "cg"],
]
BUFFER_WORDS = 8192
BYTES_MAX = 120_000
STEPS = 20_000


@functools.cache
def load_texts():
    """[(name, text)], in an order that does not depend on the folder's."""
    found = []
    for folder in FOLDERS:
        for path in sorted((TESTS / folder).iterdir()):
            if path.suffix == ".ptx":
                found.append((f"{folder}/{path.name}", path.read_text()))
            elif path.name.endswith(".ptx.gz"):
                found.append((f"{folder}/{path.name}", gzip.decompress(path.read_bytes()).decode()))
    for family in [*smemkit.families(), "probe"]:
        for variant in sorted(smemkit.variants(family)):
            found.append((f"{family}/{variant}", smemkit.ptx(family, variant)))
    return [(name, text) for name, text in found if len(text) < BYTES_MAX and ENTRY.search(text)]


def list_launches(text):
    """(name, parameters, directives) of entries whose parameters are numbers and pointers."""
    found = []
    for name, parameters, directives in ENTRY.findall(text):
        rows = PARAMETER.findall(parameters)
        if not any(array for _, array in rows):
            found.append((name, [type_ for type_, _ in rows], directives))
    return found


def make_parameter(rng, type_):
    if type_[1:] == "64" and type_[0] != "f" and rng.random() < 0.9:
        return {"words": BUFFER_WORDS, "seed": rng.getrandbits(30)}
    if type_[0] == "f":
        return {"value": rng.choice((0.0, 1.0, -2.5))}
    return {
        "value": rng.choice((0, 1, 2, 3, 31, 32, 33, 64, 100))
        & (127 if type_.endswith("8") else -1)
    }


def change_line(rng, line, others):
    """Another line in its place; None takes it away."""
    kind = rng.choice("register register number word word guard drop swap other".split())
    names = REGISTER.findall(line)
    if kind == "register" and names:
        old = rng.choice(names)
        family = re.match(r"%[a-z]+", old)[0]
        pool = sorted(
            {
                n
                for other in others
                for n in REGISTER.findall(other)
                if re.match(r"%[a-z]+", n)[0] == family
            }
        )
        at = rng.choice([m.start() for m in re.finditer(re.escape(old) + r"\b", line)])
        return line[:at] + rng.choice(pool) + line[at + len(old) :]
    if kind == "number" and (numbers := list(NUMBER.finditer(line))):
        match = rng.choice(numbers)
        value = int(match[1])
        value = rng.choice(
            (0, 1, value + 1, max(0, value - 1), value * 2, value + 4, 31, 1 << rng.randrange(31))
        )
        return line[: match.start()] + str(value) + line[match.end() :]
    if kind == "word":
        words = [
            w for w in re.findall(r"\w+", line.split("%")[0]) if any(w in group for group in TYPES)
        ]
        if words:
            old = rng.choice(words)
            new = rng.choice(next(group for group in TYPES if old in group))
            return re.sub(rf"\b{old}\b", new, line, count=1)
    if kind == "guard":
        if match := re.match(r"(\s*)@(!?)(%\w+)(.*)", line):
            return f"{match[1]}@{'' if match[2] else '!'}{match[3]}{match[4]}"
        predicates = sorted({n for other in others for n in re.findall(r"%p\d+", other)})
        if predicates and not line.lstrip().startswith("@"):
            return f"@{rng.choice(predicates)} {line.lstrip()}"
    if kind == "swap" and len(names) >= 2:
        a, b = names[-2:]
        return line.replace(a, "\0").replace(b, a).replace("\0", b)
    if kind == "other":
        return line + "\n" + rng.choice(others)
    return None


def alter(rng, text, count):
    """The text with so many of its instructions changed."""
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if INSTRUCTION.match(line) and "ret" not in line]
    for _ in range(count if places else 0):
        at = rng.choice(places)
        near = [lines[i] for i in places if abs(i - at) < 60]
        lines[at] = change_line(rng, lines[at], near) or ""
    return "\n".join(lines)


def pick_block(rng, directives):
    for word in ("reqntid", "maxntid"):
        if match := re.search(rf"\.{word}\s+([\d, ]+)", directives):
            return [int(size) for size in match[1].split(",")]
    return list(rng.choice([(32,), (64,), (96,), (40,), (256,), (16, 8)]))


def generate(seed):
    """The case of a seed."""
    rng = random.Random(f"text {seed}")
    launches = []
    while not launches:
        name, text = rng.choice(load_texts())
        launches = list_launches(text)
    entry, parameters, directives = rng.choice(launches)
    return {
        "origin": f"altered {seed}, {name}",
        "text": alter(rng, text, rng.choice((0, 1, 1, 2, 3))),
        "entry": entry,
        "grid": list(rng.choice([(1,), (2,), (3,), (2, 2), (5,)])),
        "block": pick_block(rng, directives),
        "args": [make_parameter(rng, type_) for type_ in parameters],
        "shared": rng.choice((0, 0, 1024, 16384)),
        "max_steps": STEPS,
        "clean": False,
        "fails": True,
    }
