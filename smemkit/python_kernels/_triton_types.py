"""Types of Triton's parameters: those that it gives to arguments of a call, and signatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy

from .. import _core
from .._declarations import Element, Parameter
from ._memory import name_element, read_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._memory import ArrayFacts

DIVISOR = 16  # bytes of an address, and numbers, that Triton compiles a kernel of its own for
# Elements of pointers: NumPy's name of the type, and Triton's.
ELEMENTS = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
}
# Names that numbers and elements have beside these.
SPELLINGS = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "u1": "i1", "b1": "i1"}
SPELLINGS |= {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
SPELLINGS |= {f"int{bits}": f"i{bits}" for bits in (1, 8, 16, 32, 64)}
SPELLINGS |= {f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)}
SCALARS = {*ELEMENTS.values(), "fp8e4b15", "fp8e4b8", "fp8e5b16"}
TYPE = re.compile(r"(\*?)(k?)([a-z]\w*)(?::(\d+))?")


class Slot(NamedTuple):
    """A parameter: its type in Triton's words, "constexpr" for a constant, and what is known.

    divisible: a multiple of 16; constant: its value, where the type is "constexpr".
    """

    type: str
    divisible: bool = False
    constant: Any = None

    @property
    def is_constant(self) -> bool:
        return self.type == "constexpr"


def read_type(text: object, where: str) -> Slot:
    """A type of a signature: "*fp32", "*fp32:16", "i32", or a type of triton.language."""
    name = text if isinstance(text, str) else str(text)  # tl.float32, tl.pointer_type(tl.float32)
    name = name.strip().replace("pointer<", "*").rstrip(">")
    found = TYPE.fullmatch(name)
    star, const, element, divisor = found.groups() if found else ("", "", "", None)
    element = SPELLINGS.get(const + element, element) if found else ""
    if name == "constexpr":
        return Slot("constexpr")
    if element not in SCALARS or divisor not in (None, "1", str(DIVISOR)):
        raise _core.ArgumentError(
            f"{where} is {text!r}; a type is constexpr, *fp32 (a pointer), *fp32:16 (one to a "
            f"multiple of 16), i32 and such, of {', '.join(sorted(SCALARS))}"
        )
    if const and not star:
        raise _core.ArgumentError(f"{where} is {text!r}: k is for pointers, as in *kfp32")
    if divisor == "1":  # as Triton's own command line has it: the number 1
        return Slot("constexpr", constant=1)
    return Slot(star + const + element, divisor is not None)


def _read_integer(value: int, where: str, specialize: bool, align: bool) -> Slot:
    if specialize and value == 1:
        return Slot("constexpr", constant=1)
    for name, low, high in (("i32", -(2**31), 2**31), ("i64", -(2**63), 2**63), ("u64", 0, 2**64)):
        if low <= value < high:
            return Slot(name, specialize and align and value % DIVISOR == 0)
    raise _core.ArgumentError(f"{where} is {value}, which no integer of 64 bits holds")


def infer_type(value: Any, facts: ArrayFacts | None, parameter: Any, where: str) -> Slot:
    """The type that Triton gives to an argument of a call, with its specialisation."""
    specialize = not parameter.do_not_specialize
    align = specialize and not getattr(parameter, "do_not_specialize_on_alignment", False)
    if parameter.is_constexpr:
        return Slot("constexpr", constant=value)
    if facts is not None:
        element = ELEMENTS.get(name_element(facts.dtype))
        if element is None:
            raise _core.ArgumentTypeError(
                f"{where} is an array of {facts.dtype}; Triton has {', '.join(ELEMENTS)}"
            )
        const = "k" if getattr(parameter, "is_const", False) else ""
        return Slot(f"*{const}{element}", align and facts.address % DIVISOR == 0)
    annotated = getattr(parameter, "annotation_type", "")
    if value is None:
        return Slot("constexpr")
    if isinstance(value, bool | numpy.bool_):
        return Slot("i1" if not annotated else SPELLINGS.get(annotated, annotated))
    if isinstance(value, int | numpy.integer):
        if annotated:
            slot = _read_integer(int(value), where, specialize, align)
            return (
                slot if slot.is_constant else slot._replace(type=read_type(annotated, where).type)
            )
        return _read_integer(int(value), where, specialize, align)
    if isinstance(value, float | numpy.floating):
        return Slot(read_type(annotated, where).type if annotated else "fp32")
    if type(value).__name__ == "TensorDescriptor":
        raise _core.UnsupportedError(
            f"{where} is a tensor descriptor, which the host makes for the Tensor Memory "
            "Accelerator; make it in the kernel (tl.make_tensor_descriptor), or pass pointers"
        )
    raise _core.ArgumentTypeError(
        f"{where} is {type(value).__name__}; a kernel of Triton takes arrays, numbers and None, "
        "and anything else for parameters that are tl.constexpr"
    )


def check_value(slot: Slot, value: Any, facts: ArrayFacts | None, where: str) -> None:
    """Refuses an argument that is not of a signature's type."""
    if slot.type.startswith("*"):
        element = slot.type.removeprefix("*").removeprefix("k")
        if facts is None:
            raise _core.ArgumentTypeError(
                f"{where} is {slot.type}, a pointer: it takes an array, not {type(value).__name__}"
            )
        given = name_element(facts.dtype)
        if ELEMENTS.get(given) != element and (given, element) != ("uint8", "i8"):
            raise _core.ArgumentTypeError(
                f"{where} is {slot.type}: it takes an array of {_name_numpy(element)}, not {given}"
            )
        if slot.divisible and facts.address % DIVISOR:
            raise _core.ArgumentError(
                f"{where} is {slot.type}:{DIVISOR}, and the array lies at 0x{facts.address:x}, "
                f"which is no multiple of {DIVISOR}"
            )
    elif facts is not None:
        raise _core.ArgumentTypeError(
            f"{where} is {slot.type}, a number, and an array of {facts.dtype} was given"
        )
    elif slot.divisible and int(value) % DIVISOR:
        raise _core.ArgumentError(
            f"{where} is {slot.type}:{DIVISOR}, and {value} is no multiple of {DIVISOR}"
        )


def convert_number(slot: Slot, value: Any) -> Any:
    """A number as a RawKernel takes it for such a parameter; those of 16 bits are structures."""
    if slot.type == "fp16":
        return numpy.float16(value).tobytes()
    if slot.type == "bf16":
        bits = int(numpy.float32(value).view(numpy.uint32))
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # to the nearest, ties to even
        return (rounded & 0xFFFF).to_bytes(2, "little")
    return int(value) if slot.type == "i1" else value


def _name_numpy(element: str) -> str:
    return next((name for name, other in ELEMENTS.items() if other == element), element)


def declare(name: str, slot: Slot) -> Parameter:
    """The parameter as messages of a launch name it."""
    element = slot.type.removeprefix("*").removeprefix("k")
    plain = _name_numpy(element)
    bits = re.search(r"\d+", plain)
    width = max(int(bits[0]) // 8, 1) if bits else 1
    if not slot.type.startswith("*"):
        return Parameter(name, slot.type, False, None)
    kind = {"b": "V", "f": "f", "u": "u", "i": "i"}[element[0]]
    kind = "" if element.startswith("fp8") or element == "i1" else kind
    return Parameter(name, slot.type, True, Element(kind, width, 1, plain))


def read_signature(
    names: Sequence[str], signature: Any, constants: Mapping[str, Any] | None, where: str
) -> dict[str, Slot]:
    """Slots of a signature: a dict by name, or the text that Triton's own compiler takes.

    The text has a type or the value of a constant for each parameter: "*fp32:16, i32, 1024".
    """
    given = dict(constants or {})
    if isinstance(signature, str):
        words = [word.strip() for word in signature.split(",")]
        if len(words) > len(names):
            raise _core.ArgumentError(
                f"{where}: the signature has {len(words)} types, and the kernel {len(names)} "
                f"parameters: {', '.join(names)}"
            )
        signature = {}
        for name, word in zip(names, words, strict=False):
            if name not in given and re.fullmatch(r"-?\d+(\.\d*)?|True|False|None", word):
                known = {"True": True, "False": False, "None": None}
                given[name] = (
                    known[word] if word in known else float(word) if "." in word else int(word)
                )
            else:
                signature[name] = word
    unknown = [name for name in (*signature, *given) if name not in names]
    if unknown:
        raise _core.ArgumentError(
            f"{where}: the kernel has no parameter {unknown[0]!r}; it has {', '.join(names)}"
        )
    slots = {name: read_type(text, f"{where}: {name}") for name, text in signature.items()}
    slots |= {name: Slot("constexpr", constant=value) for name, value in given.items()}
    return slots


def read_arguments(bound: Mapping[str, Any], where: str) -> dict[str, ArrayFacts | None]:
    """The facts of each argument that is an array."""
    return {name: read_array(value, f"{where}: {name}") for name, value in bound.items()}
