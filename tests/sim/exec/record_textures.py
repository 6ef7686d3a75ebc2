"""What a GPU's texture units read, as a table that tests read.

    python tests/run.py sim.exec.record_textures --out tests/sim/exec/textures_h200.json

Needs a GPU and smemkit. A few reads of each case are kept; many more are made, and it says how many
of them the simulator reads otherwise.
"""

import argparse
import json
import sys
from pathlib import Path

from sim.exec import record_mma
from support import texture_cases

KEPT, COUNT = 24, 4000


def record(case):
    texels, coordinates = texture_cases.make_inputs(case, COUNT)
    theirs = texture_cases.run(case, texels, coordinates, "cuda")
    ours = texture_cases.run(case, texels, coordinates, "sim")
    wrong = len(texture_cases.find_differences(case, ours, theirs))
    kept = texture_cases.make_inputs(case, KEPT)
    return texture_cases.run(case, *kept, "cuda"), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    rows = []
    for case in texture_cases.list_cases():
        read, wrong = record(case)
        rows.append((case.name, [f"{word:08x}" for word in read.ravel().tolist()]))
        if wrong:
            print(f"{case.name}: {wrong} of {COUNT} differ")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(' '.join(words))}" for name, words in rows)
    machine = json.dumps(record_mma.describe_machine("cuda"), indent=0)[:-2]
    text = f'{machine},\n"count": {KEPT},\n"cases": {{\n{lines}\n}}\n}}\n'
    parser.parse_args().out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
