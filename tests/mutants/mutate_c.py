"""How many small faults in the C code do the tests see?

    python tests/run.py mutants.mutate_c --count 200 [--seed 7] [--jobs 4]   # in all of csrc
    python tests/run.py mutants.mutate_c --named                             # those of named.py
    python tests/run.py mutants.mutate_c --count 20 --only race.c --list     # only says which
    python tests/run.py mutants.mutate_c --survivors build/mutants/seed-7.jsonl    # once more

A mutant is one change of one line (a comparison, a sign, a constant, a condition, a statement taken
away). Each is built in a copy of the tree; the tests that know its file run first, the others where
these see nothing. The build checks the bounds of arrays (SMEMKIT_SANITIZE=bounds): a plain build
does not show a read past an array's end, which the project's runs under sanitizers do. What has
been judged is kept in --out, and a run that was cut off goes on there.
A fault that no test can see because it changes nothing stands in equivalent.txt, with the reason,
and does not count; nor does one that does not compile. Exit status 0: at least 95 % were killed.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import queue
import random
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from mutants import c_mutations
from mutants.named import NAMED
from mutants.which_tests import WIDER, find_tests
from support.paths import ROOT

from smemkit.cli.dev import COPIED, mirror

SHARES = {"sim": 0.5, "ptx": 0.2, "py": 0.15, "registry": 0.1, "base": 0.05}
GOAL = 0.95
BUILD_LIMIT_S, FIRST_LIMIT_S, WIDER_LIMIT_S = 1200, 1200, 7200


# Which -------------------------------------------------------------------------------------------


def read_equivalents():
    """{name: reason} of mutants that change nothing."""
    found, name = {}, None
    for line in Path(__file__).with_name("equivalent.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith(" "):
            found[name] = (found[name] + " " + line.strip()).strip()
        else:
            name = line
            found[name] = ""
    missing = [name for name, reason in found.items() if not reason]
    assert not missing, f"equivalent.txt gives no reason for {missing}"
    return found


@functools.cache
def list_layer(layer, only):
    """Every mutation of a layer's files."""
    found = []
    for path in sorted((ROOT / "csrc" / layer).rglob("*.c")):
        if only is None or re.search(only, str(path)):
            text = path.read_text(encoding="utf-8")
            found += c_mutations.list_mutations(str(path.relative_to(ROOT)), text)
    return found


def choose(count, seed, only):
    """So many mutants at random, each layer with its share; one a line at most."""
    rng = random.Random(seed)
    chosen, lines, leave_out = [], set(), read_equivalents()
    for layer, share in SHARES.items():
        pool = list(list_layer(layer, only))
        rng.shuffle(pool)
        wanted = len(pool) if only else max(1, round(count * share))
        for mutation in pool:
            if wanted > 0 and (mutation.path, mutation.line) not in lines:
                lines.add((mutation.path, mutation.line))
                if mutation.name not in leave_out:
                    chosen.append(mutation)
                    wanted -= 1
    rng.shuffle(chosen)
    return chosen[:count]


def list_named():
    """The mutants of named.py as mutations; a text that is not there, or twice, is an error."""
    found = []
    for what, pattern, before, after in NAMED:
        places = []
        for path in sorted((ROOT / "csrc").rglob(pattern)):
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                if before in line:
                    new = line.replace(before, after)
                    relative = str(path.relative_to(ROOT))
                    places.append(c_mutations.Mutation(relative, number, line, new, what))
        if len(places) != 1:
            raise SystemExit(
                f"named.py: {what}: {before!r} stands {len(places)} times in {pattern}"
            )
        found += places
    return found


def list_survivors(path):
    """The mutants that a run before left alive, where their line still stands, wherever that is."""
    texts = {
        file: file.read_text(encoding="utf-8").split("\n") for file in (ROOT / "csrc").rglob("*.c")
    }
    found, equivalent = [], read_equivalents()
    for row in read_judged(path).values():
        if row["result"] != "survived" or row["name"] in equivalent:
            continue
        places = [
            (f, i)
            for f, lines in texts.items()
            for i, line in enumerate(lines, 1)
            if line == row["before"]
        ]
        near = [p for p in places if str(p[0].relative_to(ROOT)) == row["path"]] or places
        if not near:
            print(f"gone: {row['name']}")
            continue
        file, number = min(near, key=lambda place: abs(place[1] - row["line"]))
        found.append(
            c_mutations.Mutation(
                str(file.relative_to(ROOT)), number, row["before"], row["after"], row["kind"]
            )
        )
    return found


# One mutant --------------------------------------------------------------------------------------


def run(command, folder, limit_s, **variables):
    """(exit status, output); the status is None where the time was up. Leaves no process behind."""
    # random values of tests are the same every time: a mutant is not killed by luck
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "SMEMKIT_TEST_SEED": "1"}
    environment.update(variables)
    environment.pop("PYTHONPATH", None)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output


class Bench:
    """A copy of a tree (ROOT, or another bench's) where mutants are built and tested in turn."""

    def __init__(self, origin, folder, tests=(), sanitize="", cores=None):
        self.folder, self.tests, self.sanitize = folder, tests, sanitize
        self.cores = cores or os.sched_getaffinity(0)
        for name in COPIED:
            if (origin / name).exists():
                mirror(origin / name, folder / name)
        if not (folder / "build").exists():  # objects that are fresh here are fresh there
            leave = shutil.ignore_patterns("fuzz*", "corpus", "mutants", "lib.*")
            shutil.copytree(origin / "build", folder / "build", ignore=leave)
        status, output = self.build()
        if status != 0:
            raise SystemExit(f"the tree does not build:\n{output[-3000:]}")
        status, output = run(
            [sys.executable, "-c", "import smemkit; print(smemkit.__file__)"], folder, 60
        )
        if status != 0 or not output.startswith(str(folder)):
            raise SystemExit(f"the copy is not what is tested: {output}")

    def build(self):
        command = [sys.executable, "setup.py", "build_ext", "--inplace"]
        return run(command, self.folder, BUILD_LIMIT_S, SMEMKIT_SANITIZE=self.sanitize)

    def keep_objects(self, mutation):
        """What the build made of the file as it is: it comes back without being compiled again."""
        kept = {}
        for listing in (self.folder / "build").glob("temp.*/csrc/**/*.d"):
            names = listing.read_text().replace("\\\n", " ").split()
            if mutation.path in map(os.path.normpath, names):
                for path in (listing.with_suffix(end) for end in (".o", ".d", ".stamp")):
                    kept[path] = path.read_bytes()
        return kept

    def judge(self, mutation, wider):
        """{"result": ..., "by": ...}"""
        path = self.folder / mutation.path
        text, times = path.read_text(encoding="utf-8"), path.stat()
        kept = self.keep_objects(mutation)
        stamps = {file: file.stat() for file in kept}
        lines = text.split("\n")
        if lines[mutation.line - 1] != mutation.before:
            return {"result": "gone", "by": "the line is another by now"}
        lines[mutation.line - 1] = mutation.after
        try:
            path.write_text("\n".join(lines), encoding="utf-8")
            return self.build_and_test(mutation, wider)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            for file, data in kept.items():
                file.write_bytes(data)
                os.utime(file, ns=(stamps[file].st_atime_ns, stamps[file].st_mtime_ns))

    def build_and_test(self, mutation, wider):
        status, output = self.build()
        if status != 0:
            return {"result": "unbuildable", "by": output[-300:]}
        first = self.tests or find_tests(mutation.path, self.folder)
        sets = [(first, FIRST_LIMIT_S)]
        if wider:
            rest = [name for name in WIDER if name not in first and (self.folder / name).exists()]
            sets.append((rest, WIDER_LIMIT_S))
        for tests, limit_s in sets:
            status, output = run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
                self.folder,
                limit_s,
            )
            if status is None:
                return {"result": "killed", "by": "time"}
            if "file or directory not found" in output:
                raise SystemExit(f"there are no such tests:\n{output[-500:]}")
            if status != 0:
                failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
                by = failed[0] if failed else f"status {status}"
                return {"result": "killed", "by": by, "said": output[-1500:]}
        return {"result": "survived", "by": None}


# All of them -------------------------------------------------------------------------------------


def read_judged(path):
    """{(path, before, after): row} of what an earlier run has kept."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(row["path"], row["before"], row["after"]): row for row in rows}


def make_benches(pool, folder, jobs, tests, sanitize):
    """One bench a job. The first builds the tree, the others copy what it built."""
    cores = sorted(os.sched_getaffinity(0))
    pairs = [{cores[job % len(cores)], cores[(job + 1) % len(cores)]} for job in range(jobs)]
    first = Bench(ROOT, folder / "mutants.0", tests, sanitize)

    def copy(job):
        return Bench(first.folder, folder / f"mutants.{job}", tests, sanitize, pairs[job])

    others = list(pool.map(copy, range(1, jobs)))
    first.cores = pairs[0]
    return [first, *others]


def judge_all(mutations, out, jobs, wider, tests=(), sanitize=""):
    """Rows of all mutations: those that were kept, and new ones as they come."""
    judged, lock, benches = read_judged(out), threading.Lock(), queue.Queue()
    out.parent.mkdir(parents=True, exist_ok=True)

    def judge(mutation):
        key = (mutation.path, mutation.before, mutation.after)
        if key in judged:
            return judged[key]
        bench, begun = benches.get(), time.monotonic()
        # of the thread, and so of its children: simulations of several jobs do not crowd each other
        os.sched_setaffinity(0, bench.cores)
        try:
            verdict = bench.judge(mutation, wider)
        finally:
            benches.put(bench)
        row = {
            "path": mutation.path,
            "line": mutation.line,
            "before": mutation.before,
            "after": mutation.after,
            "kind": mutation.kind,
            "name": mutation.name,
            **verdict,
            "seconds": round(time.monotonic() - begun, 1),
        }
        with lock, out.open("a") as file:
            file.write(json.dumps(row) + "\n")
            print(
                f"{row['result']:<11} {row['seconds']:>6} s  {row['path']}:{row['line']}",
                flush=True,
            )
            print(f"    {row['before'].strip()}\n    {row['after'].strip()}", flush=True)
            print(f"    {row['by']}" if row["by"] else "    by no test", flush=True)
        return row

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for bench in make_benches(pool, out.parent, jobs, tests, sanitize):
            benches.put(bench)
        return list(pool.map(judge, mutations))


def report(rows):
    """Prints the share that was killed; whether it reaches the goal."""
    counted = [row for row in rows if row["result"] in ("killed", "survived")]
    survived = [row for row in counted if row["result"] == "survived"]
    for row in survived:
        print(f"survived: {row['name']}  ({row['path']}:{row['line']})")
    killed = len(counted) - len(survived)
    share = killed / len(counted) if counted else 1.0
    others = len(rows) - len(counted)
    print(f"{killed} of {len(counted)} killed: {100 * share:.1f} % ({others} did not compile)")
    return share >= GOAL


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, help="default: a new one, printed")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree side by side")
    parser.add_argument("--only", help="files whose path matches this expression")
    parser.add_argument("--named", action="store_true", help="the mutants of named.py")
    parser.add_argument("--survivors", type=Path, help="those that an --out file calls survivors")
    parser.add_argument("--sanitize", default="bounds", help='of the build; "" for a plain one')
    parser.add_argument("--first", action="store_true", help="only the tests that know the file")
    parser.add_argument("--tests", nargs="+", default=[], help="these instead, and no others")
    parser.add_argument("--list", action="store_true", help="say which, and stop")
    parser.add_argument("--out", type=Path, help="default: build/mutants/seed-N.jsonl")
    given = parser.parse_args(arguments)
    seed = secrets.randbits(24) if given.seed is None else given.seed
    name = "named" if given.named else f"seed-{seed}"
    if given.survivors:
        mutations, name = list_survivors(given.survivors), f"{given.survivors.stem}-again"
    else:
        mutations = list_named() if given.named else choose(given.count, seed, given.only)
    out = (given.out or ROOT / "build" / "mutants" / f"{name}.jsonl").resolve()
    if given.list:
        for mutation in mutations:
            print(
                f"{mutation.path}:{mutation.line}: {mutation.kind}\n    {mutation.before.strip()}"
            )
            print(f"    {mutation.after.strip()}\n    {' '.join(find_tests(mutation.path, ROOT))}")
        return 0
    print(f"seed: --seed {seed} chooses these {len(mutations)} again; kept in {out}", flush=True)
    wider = not (given.first or given.tests)
    rows = judge_all(mutations, out, given.jobs, wider, given.tests, given.sanitize)
    return int(not report(rows))


if __name__ == "__main__":
    sys.exit(main())
