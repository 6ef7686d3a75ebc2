"""Runs a module of the tests as a program, with the search path that pytest gives to tests.

python tests/run.py fuzz.differential --count 1000
python tests/run.py mutants.mutate_c --named
python tests/run.py sim.cost.record_banks --out build/banks.json
"""

import os
import runpy
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = project["tool"]["pytest"]["ini_options"]["pythonpath"]
    paths = [str(ROOT), *(str(ROOT / name) for name in names)]
    sys.path[:1] = paths
    known = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(paths + ([known] if known else []))
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
