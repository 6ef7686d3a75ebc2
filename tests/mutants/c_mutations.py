"""Small faults in C sources: where they can stand, and what the line then is.

A source is read as tokens; only the bodies of functions are changed, never comments, strings,
preprocessor lines or initialisers. A mutation is one change on one line. Changes that cannot change
what a program does are left out: the number in sizeof x[0], the equality in a < b ? a : b, and a
break where the switch ends anyway.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+)[uUlLfF]*\b)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# What may stand in the place of a sign: the nearest wrong one first.
SIGNS = {
    "<": ("<=", ">"),
    "<=": ("<", ">"),
    ">": (">=", "<"),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "+": ("-",),
    "-": ("+",),
    "+=": ("-=",),
    "-=": ("+=",),
    "&": ("|",),
    "|": ("&",),
    "<<": (">>",),
    ">>": ("<<",),
    "|=": ("&=",),
    "&=": ("|=",),
}
VALUE_ENDS = re.compile(r"[\w)\]]$")  # what stands before a sign of two operands
STATEMENT = re.compile(
    r"^\s*(?!return\b|else\b|case\b|default\b|goto\b|if\b|for\b|while\b|switch\b|do\b)"
    r"(?:\(void\)\s*)?(?:[\w.>\[\]-]+\s*(?:[-+|&^*/%]|<<|>>)?=(?!=)[^;]*|[\w.>-]+\([^;]*\)"
    r"|break|continue|[\w.>\[\]-]+(?:\+\+|--));$"
)


# The lesser or the greater of two values: where they are equal, either is.
CHOICE = re.compile(
    r"(?<![\w.>])(\w[^<>=?:;,]*) ([<>]=?) ([^<>=?:;,]+) \? (?:\1 : \3|\3 : \1)(?=[;,)])"
)
STRICT = {frozenset(("<", "<=")), frozenset((">", ">="))}


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One change: `after` in place of the line `before`, number `line` from 1, of a file."""

    path: str
    line: int
    before: str
    after: str
    kind: str

    @property
    def name(self):
        """Says which it is although lines above it come and go."""
        return f"{self.path.rsplit('/', 1)[-1]}: {self.before.strip()} -> {self.after.strip()}"


def read_tokens(text):
    """[(kind, text, start)] without blanks."""
    return [(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(text)]


def find_bodies(tokens):
    """Indices of tokens in bodies of functions, without those of initialisers."""
    inside, stack, previous = set(), [], ""
    for i, (kind, text, _) in enumerate(tokens):
        if kind in ("comment", "directive"):
            continue
        if text == "{":
            if not stack:
                stack.append("body" if previous == ")" else "other")
            elif (
                stack[-1] == "body"
                and previous not in ("=", ",", "{", ")", "(")
                or (stack[-1] == "body" and previous in (")", "{", ";", "}"))
            ):
                stack.append("body")
            else:
                stack.append("other")
        elif text == "}" and stack:
            stack.pop()
        elif stack and all(level == "body" for level in stack):
            inside.add(i)
        previous = text
    return inside


class Source:
    """A file's text and its lines."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def replace(self, start, end, new, kind):
        """The mutation that puts `new` in place of some characters of one line."""
        number = self.text.count("\n", 0, start)
        begin = self.starts[number]
        before = self.lines[number]
        after = before[: start - begin] + new + before[end - begin :]
        return Mutation(self.path, number + 1, before, after, kind)

    def apply(self, mutation):
        assert self.lines[mutation.line - 1] == mutation.before
        lines = list(self.lines)
        lines[mutation.line - 1] = mutation.after
        return "\n".join(lines)


def closing(tokens, i):
    """The index of the parenthesis that closes the one at i."""
    depth = 0
    for j in range(i, len(tokens)):
        depth += (tokens[j][1] == "(") - (tokens[j][1] == ")")
        if depth == 0:
            return j
    return i


def find_last_breaks(tokens):
    """Indices of every `break` behind which its switch ends, but for more of them and labels."""
    found, braces, switch_ends = set(), [], set()
    for i, (_, text, _) in enumerate(tokens):
        if text == "{":
            braces.append(i)
        elif text == "}" and braces:
            opened = braces.pop()
            depth, k = 0, opened - 1
            while k >= 0 and tokens[opened - 1][1] == ")":
                depth += (tokens[k][1] == ")") - (tokens[k][1] == "(")
                if depth == 0:
                    break
                k -= 1
            if k > 0 and tokens[k - 1][1] == "switch":
                switch_ends.add(i)
    for i, (_, text, _) in enumerate(tokens):
        k = i + 2
        while text == "break" and tokens[k][1] in ("default", ":", "break", ";", "case"):
            k += 1 if tokens[k][1] != "case" else 2
        if text == "break" and k in switch_ends:
            found.add(i)
    return found


def is_choice(source, start, other):
    """Does the sign there belong to a lesser or greater of two, and become the one beside it?"""
    number = source.text.count("\n", 0, start)
    at, text = start - source.starts[number], source.lines[number]
    match = next((m for m in CHOICE.finditer(text) if m.start(2) == at), None)
    return match is not None and frozenset((match[2], other)) in STRICT


def change_token(source, tokens, i):
    """Mutations of one token."""
    kind, text, start = tokens[i]
    before = tokens[i - 1][1] if i else ""
    end = start + len(text)
    if kind == "sign" and text in SIGNS:
        two_sided = bool(VALUE_ENDS.search(before)) and before not in ("return", "case", "sizeof")
        cast = before == ")" and text in "&*+-" and tokens[i + 1][0] != "number"
        pointer = text == "&" and not two_sided
        if two_sided and not cast and not pointer:
            for other in SIGNS[text]:
                if is_choice(source, start, other):
                    continue
                yield source.replace(start, end, other, "sign")
    elif kind == "number" and re.fullmatch(r"\d+[uU]?", text) and before != "case":
        digits = re.match(r"\d+", text)[0]
        number = source.text.count("\n", 0, start)
        line, line_start = source.lines[number], source.starts[number]
        declared = before == "[" and re.match(r"\s*(?:static |const )*\w+ \**\w+\[", line)
        if before == "[" and re.search(r"sizeof \(?[\w.>-]+\[$", line[: start - line_start]):
            return
        step = -1 if declared and int(digits) > 1 else 1  # a longer array does no harm
        yield source.replace(start, end, f"{int(digits) + step}{text[len(digits) :]}", "constant")
    elif kind == "word" and text in ("true", "false"):
        yield source.replace(start, end, "false" if text == "true" else "true", "constant")
    elif kind == "word" and text in ("if", "while") and tokens[i + 1][1] == "(":
        last = closing(tokens, i + 1)
        first_at, last_at = tokens[i + 1][2], tokens[last][2]
        if "\n" not in source.text[start:last_at]:
            inner = source.text[first_at : last_at + 1]
            yield source.replace(first_at, last_at + 1, f"(!{inner})", "condition")


def list_mutations(path, text):
    """Every mutation of a file."""
    source, tokens = Source(path, text), read_tokens(text)
    inside = find_bodies(tokens)
    found = [m for i in sorted(inside) for m in change_token(source, tokens, i)]
    whole = {source.text.count("\n", 0, tokens[i][2]) for i in inside}
    whole -= {source.text.count("\n", 0, tokens[i][2]) for i in find_last_breaks(tokens)}
    for number in sorted(whole):
        line = source.lines[number]
        declares = re.match(r"\s*\w+ \**\w+ =|\s*(const|static|unsigned) ", line)
        if STATEMENT.match(line) and not declares:
            indent = line[: len(line) - len(line.lstrip())]
            found.append(Mutation(path, number + 1, line, indent + ";", "statement"))
    return found
