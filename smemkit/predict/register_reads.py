"""Reads of registers: which banks of the register file an instruction of fixed latency reads.

A partition's registers lie in two banks, those of even and of odd numbers, and each bank answers
one read of 32 lanes a clock. An instruction has three clocks to read its operands, so that three
reads of one bank delay only what follows. An operand marked "reuse" stays in the operand cache of
its place for the next instruction of the warp, which then does not read it (R. Huerta and others,
"Dissecting and Modeling the Architecture of Modern GPU Cores", 2025, arXiv 2503.20481).
"""

from __future__ import annotations

import re

REGISTER = re.compile(r"-?\|?~?R(\d+)(\.64)?((?:\.\w+)*)")
# Opcodes whose registers hold 64 bits each, one half in each bank.
PAIRS = ("DFMA", "DADD", "DMUL", "DSETP", "DMNMX")
READING = {"fma", "imad", "half", "half_mma", "alu", "double"}
WINDOW = 3  # clocks


class OperandCache:
    """What the instructions of a block, one after the other, read from the banks."""

    def __init__(self) -> None:
        self.kept: dict[int, str] = {}  # place of an operand: register

    def read(self, opcode: str, kind: str, operands: str) -> tuple[int, int]:
        """Reads of the even and of the odd bank by the next instruction."""
        word = opcode.partition(".")[0]
        places = [part.strip() for part in operands.split(",")]
        places = [part for part in places if not re.match(r"!?U?P(\d|T)", part)]
        banks, kept = [0, 0], {}
        for place, part in enumerate(places[1:] if "SETP" not in word else places):
            register = REGISTER.match(part)
            if register is None:
                continue
            wide = word in PAIRS or (".WIDE" in opcode and place == 2)
            name = register[1]
            if "reuse" in part:
                kept[place] = name
            if self.kept.get(place) == name:
                continue
            if wide:
                banks = [banks[0] + 1, banks[1] + 1]
            else:
                banks[int(name) % 2] += 1
        self.kept = kept
        return (banks[0], banks[1]) if kind in READING else (0, 0)
