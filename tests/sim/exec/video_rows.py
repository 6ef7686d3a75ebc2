"""What video instructions compute, in Python's integers.

The scalar ones follow the code that ptxas makes of them for sm_75 and later, none of which has such
instructions: it differs from the text of the ISA where results leave their range.
"""

import re

import numpy as np

WORDS = ("u32", "s32")
SECONDS = ("add", "min", "max")
COMPARISONS = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}
OPERATIONS = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
}
EDGES = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000]
EDGES += [0x80000001, 0xFFFFFFFF, 0xFFFFFF80, 0xFF7F8001, 31, 32, 33, 0x00FF00FF, 0x80007FFF]
LANES = 256


def make_operands():
    """Three sources of each lane: half of them edges."""
    rng = np.random.default_rng(5)
    values = rng.integers(0, 1 << 32, (3, LANES), dtype=np.uint64)
    for row in values:
        where = rng.random(LANES) < 0.5
        row[where] = rng.choice(np.array(EDGES, np.uint64), int(where.sum()))
    return values.astype(np.uint32)


def extend(x, bits, signed):
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed and x >> (bits - 1) else x


def clamp(x, bits, signed):
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(x, low), high)


def read_part(operand):
    """Whether it is negative, the bits of a part (None: all), and the parts' numbers."""
    minus, letter, numbers = re.fullmatch(r"(-?)%r\d(?:\.([bh])(\d+))?", operand).groups()
    return minus == "-", {"b": 8, "h": 16, None: None}[letter], numbers


class Form:
    """One instruction; called with three words, it gives the result."""

    def __init__(self, text):
        head, rest = text.rstrip(";").split(" ", 1)
        name, *self.words = head.split(".")
        operands = [operand.strip() for operand in rest.split(",")]
        self.count = int(name[-1]) if name[-1] in "24" else 1
        self.name = name.rstrip("24")
        types = [word for word in self.words if word in WORDS]
        types = ["u32", *types] if self.name == "vset" else types
        self.signed = [word == "s32" for word in types]
        self.sat = "sat" in self.words
        self.second = next((word for word in self.words if word in SECONDS), None)
        self.minus_a, *self.a = read_part(operands[1])
        self.minus_b, *self.b = read_part(operands[2])
        _, *self.d = read_part(operands[0])
        self.minus_c = len(operands) > 3 and operands[3].startswith("-")

    def compute(self, x, y):
        if self.name == "vset":
            comparison = next(word for word in self.words if word in COMPARISONS)
            return int(COMPARISONS[comparison](x, y))
        if self.name in OPERATIONS:
            return OPERATIONS[self.name](x, y)
        y = y & 31 if "wrap" in self.words else min(y, 32)
        return x << y if self.name == "vshl" else x >> y

    def multiply(self, x, y, c):
        """Words have signs in any type; the sum of unsigned types is shifted as 64 bits without."""
        x, y = extend(x, 32, True), extend(y, 32, True)
        minus = self.minus_a != self.minus_b
        signed = self.signed[1] or self.signed[2] or minus or self.minus_c
        addend = extend(c, 32, True)
        total = (-x * y if minus else x * y) + (-addend if self.minus_c else addend)
        total = extend(total + ("po" in self.words), 64, True)
        shift = 7 if "shr7" in self.words else 15 if "shr15" in self.words else 0
        total = (total if signed or not shift else total & 0xFFFFFFFFFFFFFFFF) >> shift
        return (clamp(total, 32, signed) if self.sat else total) & 0xFFFFFFFF

    def saturate(self, x):
        """Into a part, what is negative becomes the largest number; sums of words may wrap."""
        bits, signed = self.d[0], self.signed[0]
        if self.name in ("vshl", "vshr"):
            return clamp(extend(x, 34, True), 32, signed)
        if bits:
            most = (1 << bits - signed) - 1
            return x if 0 <= x <= most else most
        if signed:
            return clamp(x, 32, signed)
        return max(x, 0)

    def in_range(self):
        """Whether the types alone say that no result is saturated."""
        d, a, b = self.signed
        negative = {"vmin": a or b, "vmax": a and b, "vabsdiff": False}.get(self.name, True)
        return not (d or negative)

    def finish(self, result, c):
        bits, number = self.d
        result = self.saturate(result) if self.sat else result
        if self.second == "add":
            return (result + c) & 0xFFFFFFFF
        if self.second:
            narrow = self.name in ("vadd", "vsub") or (self.sat and not self.in_range())
            word = extend(result, 32 if narrow else 64, True)
            signed = self.signed[1] if self.name == "vset" else self.signed[0]
            if not signed:
                word &= 0xFFFFFFFFFFFFFFFF
            other = extend(c, 32, signed)
            first = word < other if self.second == "min" else word > other
            return (word if first else other) & 0xFFFFFFFF
        if bits:
            mask = ((1 << bits) - 1) << bits * int(number)
            moved = result if bits == 16 and number == "1" else result << bits * int(number)
            return (c & ~mask) | (moved & mask)
        return result & 0xFFFFFFFF

    def run_one(self, a, b, c):
        def read(word, part, signed):
            bits, number = part
            return (
                extend(word >> bits * int(number), bits, signed)
                if bits
                else extend(word, 32, signed)
            )

        x, y = read(a, self.a, self.signed[1]), read(b, self.b, self.signed[2])
        return self.multiply(x, y, c) if self.name == "vmad" else self.finish(self.compute(x, y), c)

    def run_parts(self, a, b, c):
        both, bits, result = b << 32 | a, 32 // self.count, c
        first = self.a[1] or "3210"[-self.count :]
        second = self.b[1] or ("32" if self.count == 2 else "7654")
        for i in range(self.count):
            if str(i) not in (self.d[1] or "3210"):
                continue
            x = extend(both >> bits * int(first[-1 - i]), bits, self.signed[1])
            y = extend(both >> bits * int(second[-1 - i]), bits, self.signed[2])
            value = self.compute(x, y)
            value = clamp(value, bits, self.signed[0]) if self.sat else value
            if self.second == "add":
                result = (result + value) & 0xFFFFFFFF
            else:
                mask = ((1 << bits) - 1) << bits * i
                result = (result & ~mask) | (value << bits * i & mask)
        return result

    def __call__(self, a, b, c):
        return self.run_one(a, b, c) if self.count == 1 else self.run_parts(a, b, c)
