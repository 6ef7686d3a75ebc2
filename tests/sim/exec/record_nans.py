"""What a GPU makes of NaN in every instruction, as a table that tests read.

    python tests/run.py sim.exec.record_nans --out tests/sim/exec/nans_h200.json

Needs a GPU and smemkit. The instructions and operands are those of nan_rows.py; each instruction
has one line of results, one word in hexadecimal a thread.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from sim.exec import nan_rows, opcode_table, record_mma

import smemkit


def measure(backend):
    """{group: {instruction: results}}"""
    groups = nan_rows.list_groups()
    module = smemkit.RawModule(nan_rows.write_module(groups), backend=backend)
    found = {}
    for group in groups:
        out = opcode_table.launch(group, module.get_function(group.name), backend)
        found[group.name] = {
            row.text: write_words(stored, row.kind)
            for row, stored in zip(group.rows, out, strict=True)
        }
    return found, nan_rows.digest_operands(groups)


def write_words(stored, kind):
    digits = {"pred": 1, "b16": 4, "b32": 8, "b64": 16}[kind]
    words = stored.astype(opcode_table.OUT[kind]).tolist()
    return " ".join(f"{word:0{digits}x}" for word in words)


def read_words(text):
    return np.array([int(word, 16) for word in text.split()], dtype=np.uint64)


def write_table(path, machine, operands, groups):
    """One line for each instruction."""
    head = [
        f"{json.dumps(k)}: {json.dumps(v)}" for k, v in (machine | {"operands": operands}).items()
    ]
    parts = []
    for name, rows in groups.items():
        lines = ",\n".join(
            f"{json.dumps(text)}: {json.dumps(words)}" for text, words in rows.items()
        )
        parts.append(f'"{name}": {{\n{lines}\n}}')
    body = ",\n".join(parts)
    path.write_text("{\n" + ",\n".join(head) + ',\n"groups": {\n' + body + "\n}\n}\n", "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=nan_rows.TABLE)
    parser.add_argument("--backend", default="cuda")
    options = parser.parse_args()
    groups, operands = measure(options.backend)
    machine = record_mma.describe_machine(options.backend)
    write_table(options.out, machine, operands, groups)
    print(sum(len(rows) for rows in groups.values()), "instructions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
