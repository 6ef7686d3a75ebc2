"""What CUDA C declares: the parameters of its kernels, and its shared arrays.

A reader of declarations alone, without a preprocessor: it looks at all branches of every #if. What
it does not understand, or finds declared in two ways, is not known; then nothing is checked, and
nothing is said. Element types are those of NumPy: a pointer to float wants arrays of float32.
"""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    import numpy

    DType = numpy.dtype[Any]
    Bound = Mapping[str, "Element | None"]  # types that are named elsewhere; None: not known
    Value = tuple[str, ...] | None  # the tokens that a name stands for; None: not known

SPLICE = re.compile(r"\\\r?\n")
TOKEN = re.compile(
    r"""
      (?P<skip> \s+ | //[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<line> ^[ \t]*\#[^\n]* )
    | (?P<text> (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
              | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+' )
    | (?P<name> [A-Za-z_]\w* )
    | (?P<number> \.?\d(?:[eEpP][+-]|'?[\w.])* )
    | (?P<sign> :: | << | .)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)(\(?)(.*)", re.DOTALL)
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, (")", "]", "}")
# Words of a declaration that say nothing of its type; the second kind has parentheses behind it.
QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "register", "typename"}
QUALIFIERS |= {"__grid_constant__", "struct", "class", "enum", "union", "static", "constexpr"}
QUALIFIERS |= {"__device__", "inline", "__constant__", "__managed__", "extern"}
ATTRIBUTES = {"__launch_bounds__", "__attribute__", "__align__", "alignas", "__maxnreg__"}
ATTRIBUTES |= {"__cluster_dims__", "__block_size__", "__declspec"}
MANGLED = {"f": "float", "d": "double", "b": "bool", "c": "char", "a": "signed char"}
MANGLED |= {"h": "unsigned char", "s": "short", "t": "unsigned short", "i": "int"}
MANGLED |= {"j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long"}
MANGLED |= {"y": "unsigned long long"}
WORDS = {"void", "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double"}


class Element(NamedTuple):
    """A type of elements.

    kind is that of NumPy's dtype ("" where any array will do), bytes those of one lane, lanes the
    length of a vector type (float4: 4), and name what messages call its dtype, which is its name in
    ml_dtypes where NumPy has none.
    """

    kind: str
    bytes: int
    lanes: int
    name: str


class Parameter(NamedTuple):
    name: str
    text: str  # the type as messages spell it: "const float *"
    is_pointer: bool
    element: Element | None  # None: not known


class Declarator(NamedTuple):
    """What stands behind a type: *name[2][3] has a star, and the tokens of two lengths."""

    name: str
    stars: int
    lengths: list[list[str]]


class Declaration(NamedTuple):
    """A type and its declarator: text is the type as messages spell it; name may be ""."""

    name: str
    is_pointer: bool
    element: Element | None  # None: not known
    text: str
    lengths: list[list[str]]


class KernelHead(NamedTuple):
    """A kernel's name, those of its template parameters, and where its parameters lie."""

    name: str
    template: tuple[str, ...]
    start: int
    end: int


class Array(NamedTuple):
    """An array in shared memory: bytes of an element, and lengths; None for what is not known."""

    bytes: int | None
    lengths: tuple[int | None, ...]


ANYTHING = Element("", 1, 1, "")  # char and unsigned char: C lets them be the bytes of any object
INTEGERS = {"short": 2, "int": 4, "long": 8, "longlong": 8}
FLOATS = {"float": 4, "double": 8}
ELEMENTS = {
    "void": Element("", 0, 1, ""),
    "bool": Element("b", 1, 1, "bool_"),
    "char": ANYTHING,
    "uchar": ANYTHING,
    "schar": Element("i", 1, 1, "int8"),
    "std::byte": ANYTHING,
    "dim3": Element("u", 4, 3, "uint32"),
}
for _name, _bytes in INTEGERS.items():
    ELEMENTS[_name] = Element("i", _bytes, 1, f"int{8 * _bytes}")
    ELEMENTS[f"u{_name}"] = Element("u", _bytes, 1, f"uint{8 * _bytes}")
for _name, _bytes in FLOATS.items():
    ELEMENTS[_name] = Element("f", _bytes, 1, f"float{8 * _bytes}")
for _lanes in (1, 2, 3, 4):
    ELEMENTS[f"char{_lanes}"] = Element("i", 1, _lanes, "int8")
    ELEMENTS[f"uchar{_lanes}"] = Element("u", 1, _lanes, "uint8")
    for _name in (*INTEGERS, *(f"u{name}" for name in INTEGERS), *FLOATS):
        ELEMENTS[f"{_name}{_lanes}"] = ELEMENTS[_name]._replace(lanes=_lanes)
for _bits in (16, 32, 64):
    ELEMENTS[f"int{_bits}_t"] = Element("i", _bits // 8, 1, f"int{_bits}")
    ELEMENTS[f"uint{_bits}_t"] = Element("u", _bits // 8, 1, f"uint{_bits}")
ELEMENTS |= {"int8_t": ELEMENTS["schar"], "uint8_t": ANYTHING, "size_t": ELEMENTS["ulong"]}
ELEMENTS |= {"ptrdiff_t": ELEMENTS["long"], "intptr_t": ELEMENTS["long"]}
ELEMENTS |= {"uintptr_t": ELEMENTS["ulong"], "ssize_t": ELEMENTS["long"]}
for _words, _element in (
    ("half __half nv_half", Element("f", 2, 1, "float16")),
    ("nv_bfloat16 __nv_bfloat16", Element("V", 2, 1, "bfloat16")),
    ("half2 __half2 nv_half2", Element("f", 2, 2, "float16")),
    ("nv_bfloat162 __nv_bfloat162", Element("V", 2, 2, "bfloat16")),
):
    ELEMENTS |= dict.fromkeys(_words.split(), _element)
ELEMENTS |= {"cuComplex": ELEMENTS["float2"], "cuFloatComplex": ELEMENTS["float2"]}
ELEMENTS |= {"cuDoubleComplex": ELEMENTS["double2"]}
ELEMENTS |= {"complex<float>": ELEMENTS["float2"], "complex<double>": ELEMENTS["double2"]}
NAMESPACES = ("cuda::std::", "std::", "thrust::", "::")


class _Source:
    """The tokens of a source, and the names that it gives to types and numbers."""

    def __init__(self, text: str, options: Iterable[str]) -> None:
        self.tokens: list[str] = []
        self.names: dict[str, Value] = {}
        for option in options:
            if option.startswith("-D"):
                name, _, value = option[2:].strip().partition("=")
                self._define(name, value or "1")
        for found in TOKEN.finditer(SPLICE.sub(" ", text)):
            if found.lastgroup == "line":
                macro = MACRO.match(found["line"].strip())
                if macro:
                    self._define(macro[1], None if macro[2] else macro[3])
            elif found.lastgroup not in ("skip", "mark"):
                self.tokens.append(found[0])
        self._read_names()

    def _define(self, name: str, value: str | Value) -> None:
        """Notes what a name stands for: a text, or its tokens."""
        if isinstance(value, str):
            found = TOKEN.finditer(value)
            value = tuple(one[0] for one in found if one.lastgroup not in ("skip", "mark"))
        self.names[name] = value if self.names.get(name, value) == value else None

    def find_end(self, start: int) -> int:
        """The index behind the bracket that closes the one at `start`, or the end."""
        depth, i = 0, start
        opening = self.tokens[start]
        closing = OPENING.get(opening, ">")
        while i < len(self.tokens):
            if self.tokens[i] == opening:
                depth += 1
            elif self.tokens[i] == closing:
                depth -= 1
            i += 1
            if depth == 0:
                break
        return i

    def split(self, start: int, end: int) -> list[list[str]]:
        """Lists of the tokens between two indices, parted at commas outside of all brackets."""
        parts: list[list[str]] = [[]]
        depth = 0
        for token in self.tokens[start:end]:
            depth += (token in ("(", "[", "{", "<")) - (token in (")", "]", "}", ">"))
            if token == "," and depth == 0:
                parts.append([])
            else:
                parts[-1].append(token)
        return parts if parts != [[]] else []

    def _read_names(self) -> None:
        """Types that are named by typedef or using, and numbers by const, constexpr or enum."""
        tokens = self.tokens
        for i, token in enumerate(tokens):
            if token in ("typedef", "const", "constexpr", "using"):
                end = i
                while end < len(tokens) and tokens[end] not in (";", "{", ")"):
                    end += 1
                if token == "typedef":
                    self._read_typedef(i + 1, end)
                elif token == "using" and tokens[i + 2 : i + 3] == ["="]:
                    self._define(tokens[i + 1], tuple(tokens[i + 3 : end]))
                elif token != "using":
                    self._read_constants(i + 1, end)
            elif token == "enum" and "{" in tokens[i : i + 6]:
                start = tokens.index("{", i)
                self._read_constants(start + 1, self.find_end(start) - 1)
            if token in ("struct", "class", "union", "enum") and i + 1 < len(tokens):
                following = tokens[i + 2 : i + 3]
                if following and following[0] in ("{", ":", ";", "final"):
                    self._define(tokens[i + 1], None)

    def _read_typedef(self, start: int, end: int) -> None:
        if end < len(self.tokens) and self.tokens[end] == "{":  # of a structure
            end = self.find_end(end)
            if end < len(self.tokens):
                self._define(self.tokens[end], None)
            return
        words = self.tokens[start:end]
        if len(words) > 1:
            self._define(words[-1], tuple(words[:-1]))

    def _read_constants(self, start: int, end: int) -> None:
        for part in self.split(start, end):
            if "=" in part and part.index("=") > 0:
                at = part.index("=")
                self._define(part[at - 1], tuple(part[at + 1 :]))


# Types and numbers -------------------------------------------------------------------------------


def _read_words(words: Sequence[str]) -> Element | None:
    """The element of a type of C's own words, as in unsigned long long; None for no such type."""
    kind = [word for word in words if word not in ("signed", "unsigned")]
    signs = [word for word in words if word in ("signed", "unsigned")]
    if len(signs) > 1:
        return None
    long = kind.count("long")
    short = "short" in kind
    rest = [word for word in kind if word not in ("long", "short")]
    if rest == ["char"] and not long and not short:
        return ELEMENTS[{"signed": "schar", "unsigned": "uchar"}.get("".join(signs), "char")]
    if rest in ([], ["int"]):
        name = "short" if short else "long" * long if long else "int"
        return ELEMENTS.get(("u" if signs == ["unsigned"] else "") + name)
    return ELEMENTS.get(rest[0]) if len(kind) == 1 and not signs else None


def _read_name(source: _Source, name: str, bound: Bound, depth: int) -> tuple[Element | None, bool]:
    """(element, whether it is a pointer) of a type's name; (None, False) where it is not known."""
    if name in bound:
        return bound[name], False
    if name in source.names:
        value = source.names[name]
        parsed = None
        if value is not None and depth <= 8:
            parsed = _read_declaration(source, list(value), bound, depth + 1)
        return (parsed.element, parsed.is_pointer) if parsed else (None, False)
    for start in NAMESPACES:
        if name.startswith(start) and name.removeprefix(start) not in WORDS:
            name = name.removeprefix(start)
    if name == "byte":
        return ANYTHING, False
    is_key = name in ("longlong", "ulonglong", "schar", "std::byte")  # of ELEMENTS, but no C
    return None if is_key else ELEMENTS.get(name), False


def _read_declaration(
    source: _Source, tokens: Sequence[str], bound: Bound, depth: int = 0
) -> Declaration | None:
    """The declaration that the tokens are, or None."""
    words: list[str] = []
    spelled: list[str] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token in QUALIFIERS:
            spelled += [token] if token in ("const", "volatile") else []
        elif token in ATTRIBUTES or tokens[i : i + 2] == ["[", "["]:
            while i < len(tokens) and tokens[i] not in (")", "]"):
                i += 1
            i += tokens[i : i + 2] == ["]", "]"]
        elif token in WORDS and (not words or words[-1] in WORDS):
            words.append(token)
        elif (re.match(r"[A-Za-z_]", token) or token == "::") and not words:
            name = token
            while i + 2 < len(tokens) and (tokens[i + 1] == "::" or name == "::"):
                step = 1 if name == "::" else 2
                name += "".join(tokens[i + 1 : i + 1 + step])
                i += step
            if tokens[i + 1 : i + 2] == ["<"]:
                end = tokens.index(">", i) if ">" in tokens[i:] else len(tokens) - 1
                name += "".join(tokens[i + 1 : end + 1])
                i = end
            words.append(name)
        else:
            break
        i += 1
    if not words:
        return None
    if words[0] in WORDS:
        element, inner = _read_words(words), False
    else:
        element, inner = _read_name(source, words[0], bound, depth)
    declared = _read_declarator(tokens[i:])
    if declared is None:
        return None
    name, stars, lengths = declared
    is_pointer = stars + inner > 0
    element = element if stars + inner <= 1 else ANYTHING  # pointers to pointers: whatever it is
    qualifiers = " ".join(dict.fromkeys(spelled))
    text = f"{qualifiers} {' '.join(words)}".strip() + (" " + "*" * stars if stars else "")
    return Declaration(name, is_pointer, element, text, lengths)


def _read_declarator(words: Sequence[str]) -> Declarator | None:
    """The declarator that the tokens are, or None."""
    tokens = [token for token in words if token not in QUALIFIERS]
    stars = 0
    if tokens[:2] == ["(", "*"] and ")" in tokens:  # a pointer to an array: (*name)[32]
        end = tokens.index(")")
        inner = _read_declarator(tokens[1:end])
        return inner if inner and tokens[end + 1 : end + 2] == ["["] and inner.stars == 1 else None
    while tokens[:1] == ["*"]:
        stars, tokens = stars + 1, tokens[1:]
    name = tokens.pop(0) if tokens and re.fullmatch(r"[A-Za-z_]\w*", tokens[0]) else ""
    lengths: list[list[str]] = []
    while tokens[:1] == ["["] and "]" in tokens:
        end = tokens.index("]")
        lengths.append(tokens[1:end])
        tokens = tokens[end + 1 :]
    if tokens and tokens[0] != "=":
        return None
    return Declarator(name, stars, lengths)


def _compute(source: _Source, tokens: Iterable[str], depth: int = 0) -> int | None:
    """The number that an expression of + - * / % << and known names has; None: not known."""
    rest = list(tokens)

    def take_value() -> int | None:
        token = rest.pop(0) if rest else ""
        if token == "(":
            value = take_sum(0)
            return value if rest and rest.pop(0) == ")" else None
        if token in ("-", "+"):
            value = take_value()
            return value if value is None or token == "+" else -value
        if token[:1].isdigit():
            try:
                return int(token.rstrip("uUlL").replace("'", ""), 0)
            except ValueError:
                return None
        named = source.names.get(token)
        return _compute(source, named, depth + 1) if named and depth < 8 else None

    levels: tuple[tuple[str, ...], ...] = (("<<",), ("+", "-"), ("*", "/", "%"))

    def take_sum(level: int) -> int | None:
        if level == len(levels):
            return take_value()
        left = take_sum(level + 1)
        while rest and rest[0] in levels[level]:
            sign, right = rest.pop(0), take_sum(level + 1)
            if left is None or right is None or (sign in "/%" and right == 0):
                left = None
            elif sign == "<<":
                left = left << right if 0 <= right < 32 else None
            else:
                parts = {"+": left + right, "-": left - right, "*": left * right}
                left = parts[sign] if sign in parts else divide(left, right, sign)
        return left

    def divide(left: int, right: int, sign: str) -> int:
        whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return whole if sign == "/" else left - whole * right

    try:
        value = take_sum(0)
    except RecursionError:  # hundreds of nested parentheses
        return None
    return None if rest else value


# Kernels -----------------------------------------------------------------------------------------


def _read_parameters(source: _Source, start: int, end: int, bound: Bound) -> tuple[Parameter, ...]:
    """The parameters between two indices."""
    parameters: list[Parameter] = []
    parts = source.split(start, end)
    if parts == [["void"]]:
        return ()
    for part in parts:
        if "=" in part:
            part = part[: part.index("=")]
        parsed = _read_declaration(source, part, bound)
        if parsed is None:
            parameters.append(Parameter("", "", False, None))
            continue
        name, is_pointer, element, text, lengths = parsed
        if lengths and not is_pointer:  # float x[32] is float *x
            is_pointer, text = True, f"{text} *"
        parameters.append(Parameter(name, text, is_pointer, element))
    return tuple(parameters)


def _list_kernels(source: _Source) -> Iterator[KernelHead]:
    """Every kernel."""
    tokens = source.tokens
    template: tuple[str, ...] = ()
    for i, token in enumerate(tokens):
        if token == "template" and tokens[i + 1 : i + 2] == ["<"]:
            parts = source.split(i + 2, source.find_end(i + 1) - 1)
            named = [part[: part.index("=")] if "=" in part else part for part in parts]
            template = tuple(part[-1] for part in named if part)
        elif token in (";", "{", "}"):
            template = ()
        if token != "__global__":
            continue
        at = i + 1
        while at < len(tokens) and not (
            re.match(r"[A-Za-z_]", tokens[at])
            and tokens[at] not in ATTRIBUTES
            and tokens[at + 1 : at + 2] == ["("]
        ):
            if tokens[at] in (";", "{", "<"):  # an explicit instantiation, or nothing of ours
                at = len(tokens)
            elif tokens[at] in ATTRIBUTES and tokens[at + 1 : at + 2] == ["("]:
                at = source.find_end(at + 1)
            else:
                at += 1
        if at < len(tokens):
            yield KernelHead(tokens[at], template, at + 2, source.find_end(at + 1) - 1)


def _read_mangled(name: str) -> tuple[str, tuple[str, ...]]:
    """The name of a mangled function, and its template arguments as far as they are words of C.

    _ZN3two5scaleIfLi3EEvPT_i is scale, with the arguments float and something.
    """
    found = re.match(r"_ZN?", name)
    rest = name[found.end() :] if found else ""
    last: str | None = None
    while found and (last is None or found[0] == "_ZN"):
        length = re.match(r"\d+", rest)
        if not length:
            break
        end = length.end() + int(length[0])
        last, rest = rest[length.end() : end], rest[end:]
    listed = re.match(r"I((?:[a-z]|L[a-z]\w*?E)+)E", rest)
    codes = re.findall(r"L[a-z]\w*?E|[a-z]", listed[1]) if listed else []
    return last or name, tuple(MANGLED.get(code, "") for code in codes)


@functools.lru_cache(maxsize=64)
def _read(text: str, options: tuple[str, ...]) -> _Source:
    return _Source(text, options)


def _merge(
    one: tuple[Parameter, ...] | None, other: tuple[Parameter, ...] | None
) -> tuple[Parameter, ...] | None:
    """The parameters of two declarations of a kernel; None where they differ."""
    if one is None or other is None or len(one) != len(other):
        return None
    if any(a[1:] != b[1:] for a, b in zip(one, other, strict=True)):
        return None
    return tuple(b if b.name else a for a, b in zip(one, other, strict=True))


def read_kernel(
    text: str, entry: str, options: Sequence[str] = (), bound: Bound | None = None
) -> tuple[Parameter, ...] | None:
    """The parameters of a kernel, a tuple of Parameter, or None where they are not known.

    Parameters
    ----------
    text : str
        CUDA C.
    entry : str
        The kernel's name in PTX, which may be mangled.
    options : sequence of str
        For the compiler: those with -D name types and numbers.
    bound : dict, optional
        Types that are named elsewhere, from name to Element.
    """
    source = _read(text, tuple(options))
    name, arguments = _read_mangled(entry)
    found: list[tuple[Parameter, ...] | None] = []
    for kernel in _list_kernels(source):
        if kernel.name != name:
            continue
        types = dict(bound or {})
        for number, parameter in enumerate(kernel.template):
            value = arguments[number] if number < len(arguments) else ""
            types[parameter] = _read_words(value.split()) if value else None
        found.append(_read_parameters(source, kernel.start, kernel.end, types))
    return functools.reduce(_merge, found) if found else None


def read_package_kernel(text: str, entry: str) -> tuple[Parameter, ...] | None:
    """As read_kernel, of a kernel of the package: the end of its name says what T is."""
    source = _read(text, ())
    names = [kernel.name for kernel in _list_kernels(source) if entry.startswith(f"{kernel.name}_")]
    types = {element.name: element for element in ELEMENTS.values() if element.lanes == 1}
    types["tf32"] = types["float32"]  # rounded by the kernel
    bound = {"T": types.get(entry.rpartition("_")[2]), "A": None}
    return read_kernel(text, max(names, key=len), bound=bound) if names else None


# Arrays for parameters ---------------------------------------------------------------------------


def _list_leaves(dtype: DType) -> list[DType]:
    """The dtypes of which a dtype is made: the fields of a structure, both halves of a complex."""
    if dtype.subdtype is not None:
        return _list_leaves(dtype.subdtype[0])
    if dtype.fields is not None:
        return [leaf for field in dtype.fields.values() for leaf in _list_leaves(field[0])]
    return [dtype]


def _takes_leaf(element: Element, dtype: DType) -> bool:
    """Whether a pointer to elements takes an array of that dtype, which has no parts."""
    kind, size = dtype.kind, dtype.itemsize
    if kind == "c":
        kind, size = "f", size // 2
    if kind in "mM":  # dates are integers of 64 bits
        kind = "i"
    if dtype.kind == "V" and dtype.name.startswith("void"):
        return True  # bytes of which NumPy knows nothing either
    if size != element.bytes:
        return False
    if element.bytes == 2 and element.name in ("float16", "bfloat16"):
        return dtype.name == element.name or kind in "iu"  # the bits, where NumPy lacks the type
    if element == ELEMENTS["ushort"]:  # what kernels without a header hold a half or bfloat16 in
        return True
    if element.kind in "iub":
        # int and unsigned differ in no bit that an array holds, and nvcc's PTX declares them alike
        return kind in "iub"
    return kind == element.kind


def _is_written(parameter: Parameter) -> bool:
    """Whether a kernel may store through a pointer: what it points to is not const."""
    return "const" not in re.findall(r"\w+", parameter.text.rpartition("*")[0])


def explain_refusal(parameter: Parameter, dtype: DType, nbytes: int, is_device: bool) -> str | None:
    """Why a pointer does not take an array of that dtype and so many bytes; None: it takes it."""
    element = parameter.element
    if element is None:
        return None
    called = parameter.name or "the parameter"
    spelled, words = parameter.text, set(re.findall(r"[\w:]+", parameter.text))
    if not words <= ELEMENTS.keys() | WORDS | QUALIFIERS:  # a name of the source's own
        spelled += f" ({element.name})"
    what = f"{called} is {spelled}, the array is {dtype}"
    total = element.bytes * element.lanes
    if dtype.fields is not None and element.lanes > 1 and dtype.itemsize == total:
        return None
    if all(_takes_leaf(element, leaf) for leaf in _list_leaves(dtype)):
        if nbytes % total == 0:
            return None
        return f"{what} of {nbytes} bytes: an element of the parameter has {total}"
    variable = parameter.name or "x"
    if is_device:
        variable = f"smemkit.asnumpy({variable})"
    converted = f"{variable}.astype(numpy.{element.name})"
    viewed = f"{variable}.view(numpy.{element.name})"
    if element.name == "bfloat16":  # a type of ml_dtypes; arrays hold its bits
        viewed = f"{variable}.view(numpy.uint16)"
        converted = f"{variable}.astype(ml_dtypes.bfloat16).view(numpy.uint16)"
    if is_device:
        converted, viewed = f"smemkit.asarray({converted})", f"smemkit.asarray({viewed})"
    hands = f"{viewed} hands over its bytes as they are"
    if _is_written(parameter):
        stored = "uint16" if element.name == "bfloat16" else element.name
        made = f'{"smemkit" if is_device else "numpy"}.zeros(shape, "{stored}")'
        return (
            f"{what}, and the kernel may write to it: make it {stored} from the start, as in "
            f"{made}, because a converted copy would take the result and be thrown away; {hands}"
        )
    return f"{what}: pass {converted}; {hands}"


# Shared arrays -----------------------------------------------------------------------------------


def read_shared_arrays(text: str, options: Sequence[str] = ()) -> dict[str, list[Array]]:
    """The arrays in shared memory, from name to a list of Array, one for each declaration."""
    source = _read(text, tuple(options))
    tokens = source.tokens
    found: dict[str, list[Array]] = {}
    for i, token in enumerate(tokens):
        if token != "__shared__":
            continue
        end = i
        while end < len(tokens) and tokens[end] not in (";", "{"):
            end += 1
        parts = source.split(i + 1, end)
        first = _read_declaration(source, parts[0], {}) if parts else None
        if first is None:
            continue
        element = first.element
        size = 8 if first.is_pointer else element.bytes * element.lanes if element else None
        declared = [(first.name, first.lengths)]
        for part in parts[1:]:
            more = _read_declarator(part)
            declared += [(more.name, more.lengths)] if more and not more.stars else []
        for name, lengths in declared:
            numbers = tuple(_compute(source, length) for length in lengths)
            found.setdefault(name, []).append(Array(size, numbers))
    return found


def _fit(array: Array, nbytes: int) -> Array | None:
    """The array with what is not known inferred from its bytes; None where it does not fit them."""
    unknown = [i for i, length in enumerate(array.lengths) if not length or length < 0]
    known = [length for length in array.lengths if length and length > 0]
    product = math.prod(known) * (array.bytes or 1)
    if nbytes % product or len(unknown) + (array.bytes is None) > 1:
        return None
    left = nbytes // product
    if unknown:
        at = unknown[0]
        return array._replace(lengths=(*array.lengths[:at], left, *array.lengths[at + 1 :]))
    if array.bytes is None:
        return array._replace(bytes=left)
    return array if left == 1 else None


@functools.lru_cache(maxsize=256)
def fit_shared_array(text: str, name: str, nbytes: int) -> Array | None:
    """The Array of a shared variable of so many bytes, or None where its shape is not known."""
    declared = read_shared_arrays(text).get(name, ())
    found = {fit for array in declared if (fit := _fit(array, nbytes))}
    return found.pop() if len(found) == 1 else None


def name_element(
    arrays: Mapping[str, Sequence[Array]], name: str, nbytes: int, offset: int
) -> str | None:
    """The element of a shared variable at a byte, as in tile[1][0]; None where it is not known.

    nbytes is the size of the variable, 0 where the launch gives it; an offset inside an element
    adds the byte.
    """
    declared = arrays.get(name, ())
    if nbytes == 0:
        sizes = {array.bytes for array in declared if len(array.lengths) == 1}
        fitting = {Array(size, (None,)) for size in sizes if size} if len(sizes) == 1 else set()
    else:
        fitting = {fit for array in declared if (fit := _fit(array, nbytes))}
    if len(fitting) != 1:
        return None
    size, lengths = fitting.pop()
    inner = [length for length in lengths[1:] if length]
    if size is None or len(inner) != len(lengths[1:]):
        return None
    index, byte = divmod(offset, size)
    places = []
    for length in reversed(inner):
        places.append(index % length)
        index //= length
    if lengths:
        places.append(index)
    subscripts = "".join(f"[{place}]" for place in reversed(places))
    return f"{name}{subscripts}" + (f", byte {byte} of it" if byte else "")
