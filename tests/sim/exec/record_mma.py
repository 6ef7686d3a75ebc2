"""What a GPU's tensor cores make of numbers of all kinds, as a table that tests read.

    python tests/run.py sim.exec.record_mma --out tests/sim/exec/mma_h200.json

Needs a GPU and smemkit. One product for each form and regime of mma_model.py; many more are made,
and it says of how many the model has the same bits.
"""

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from sim.exec import mma_model, mma_tools

import smemkit

COUNT = 32


def read_driver():
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.split("\n")[0].strip()


def describe_machine(backend):
    """Provenance: where the numbers come from."""
    return {
        "device": smemkit.device_info(backend=backend)["name"],
        "driver": read_driver() if backend == "cuda" else None,
        "date": datetime.date.today().isoformat(),
        "smemkit": smemkit.__version__,
    }


def is_nan(form, bits):
    return np.isnan(mma_model.decode(form.result, bits))


def record(form, regime, rng, backend):
    """One product for the table, and how many of all results the model does not have."""
    a, b, c = mma_model.make_numbers(form, regime, rng, COUNT)
    d = mma_tools.multiply(form, a, b, c, backend)
    wrong = d != mma_model.multiply(form, a, b, c)
    if form.double:  # whose NaN has no bits of its own
        wrong &= ~(is_nan(form, d) & is_nan(form, mma_model.multiply(form, a, b, c)))
    case = {x: mma_model.write_bits(m[0]) for x, m in zip("abcd", (a, b, c, d), strict=True)}
    return case, int(wrong.sum())


def write_table(path, machine, forms):
    """One line for each matrix."""
    parts = [json.dumps(machine, indent=0)[:-2] + ',\n"forms": {']
    parts.append(",\n".join(f'"{name}": {json.dumps(x, indent=0)}' for name, x in forms.items()))
    path.write_text("\n".join([*parts, "}", "}", ""]), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("mma_h200.json"))
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, forms, total = np.random.default_rng(options.seed), {}, 0
    for form in mma_tools.FORMS:
        forms[str(form)] = {}
        for regime in mma_model.list_regimes(form):
            case, wrong = record(form, regime, rng, options.backend)
            forms[str(form)][regime] = case
            total += wrong
            print(f"{form} {regime}: {wrong} of {COUNT * form.rows * 8} differ", flush=True)
    write_table(options.out, describe_machine(options.backend), forms)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
