"""Differential fuzzing of the simulator: random kernels, and altered ones, executed every way.

    python tests/run.py fuzz.differential --count 1000 [--seed 7] [--kind generated|altered]
    python tests/run.py fuzz.differential --hours 2 --jobs 2
    python tests/run.py fuzz.differential --case build/fuzz/generated-12.json    # one that was kept

Each case runs plain, profiled (accesses as written and as ptxas makes them) and checked, in a
process for each instruction set that the processor has, and in one with many host threads. Memory,
what was printed, errors, steps, counters and findings must be equal wherever they mean the same. A
case that differs is made smaller, line by line, and kept under --out.
"""

import argparse
import collections
import json
import os
import random
import re
import secrets
import subprocess
import sys
import threading
import time
from pathlib import Path

from fuzz import fuzz_kernels, fuzz_texts
from support.paths import ROOT

import smemkit

HERE = Path(__file__).resolve().parent

KINDS = {"generated": fuzz_kernels.generate, "altered": fuzz_texts.generate}
THREADS = 4
LIMIT_S = 300  # for one case in one process
ISAS = ("avx512", "avx2", "baseline")


class Worker:
    """A process of one configuration that runs cases."""

    def __init__(self, isa, threads):
        self.name = f"{isa}/{threads} threads" if threads > 1 else isa
        self.threads = threads
        environment = {**os.environ, "SMEMKIT_ISA": isa, "SMEMKIT_THREADS": str(threads)}
        paths = [str(Path(smemkit.__file__).parents[1]), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "fuzz_worker.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.isa = json.loads(self.process.stdout.readline())["isa"]

    def send(self, case):
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive says so

    def receive(self):
        """What came of the case; where the process died of it, how."""
        timer = threading.Timer(LIMIT_S, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        return json.loads(line) if line else {"died": self.process.wait()}

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Crew:
    """One worker for each instruction set, and one with many threads. A context manager."""

    def __enter__(self):
        best = smemkit._core._isa()
        isas = ISAS[ISAS.index(best) :]
        self.wanted = [(isa, 1) for isa in isas] + [(best, THREADS)]
        self.ended = collections.Counter()
        self.start()
        return self

    def start(self):
        self.workers = [Worker(*wanted) for wanted in self.wanted]
        assert [worker.isa for worker in self.workers] == [isa for isa, _ in self.wanted]

    def __exit__(self, *_):
        for worker in self.workers:
            worker.close()

    def run(self, case):
        """{worker: {way: what came of it}}, the reference first. All go on from one state."""
        for worker in self.workers:
            worker.send(case)
        answers = {worker.name: worker.receive() for worker in self.workers}
        if any("died" in answer for answer in answers.values()):
            self.__exit__()
            self.start()
        return answers

    def differences(self, case):
        answers = self.run(case)
        self.ended[how_it_ended(next(iter(answers.values())))] += 1
        return compare(case, answers, {w.name: w.threads for w in self.workers})


def how_it_ended(answer):
    if "died" in answer:
        return "died"
    error = answer["run"]["error"]
    return error[0] if error else "ran"


# What must be equal ------------------------------------------------------------------------------


def without_addresses(error):
    """An error as one way of running says it: arrays lie elsewhere the next time."""
    if not error:
        return None
    text = [re.sub(r"out of bounds: .*? \[kernel", "out of bounds [kernel", part) for part in error]
    return [re.sub(r"0x[0-9a-f]+|\b\d{9,}\b", "*", part) for part in text]


def differing(a, b, names):
    return [name for name in names if a.get(name) != b.get(name)]


def is_stable(answer):
    """False where a second run gives other results: it depends on where arrays lie."""
    run, again = answer["run"], answer["again"]
    if without_addresses(run["error"]) != without_addresses(again["error"]):
        return False
    return not differing(run, again, ("memory", "printed", "steps"))


def compare_ways(case, answer, threads):
    """One process: what is observed is what is run."""
    run, check, found = answer["run"], answer["check"], []
    text = case["text"]
    fences = re.search("membar|fence", text)  # each takes a step of its own where somebody watches
    failed = without_addresses(run["error"])
    # threads of the host decide data races between blocks and what comes of them: each time anew
    chance = threads > 1 and case["fails"] and not is_ordered(answer)
    for way in ("again", "profile", "unmodelled"):
        other = answer[way]
        spent = "StepBudgetError" in [*(run["error"] or ()), *(other["error"] or ())]
        if chance or (spent and (threads > 1 or fences)):
            pass  # which step is the last is open, and so is which block takes it
        elif without_addresses(other["error"]) != failed:
            found.append(f"{way}: error {other['error']} instead of {run['error']}")
        elif not failed:
            found += [
                f"{way}: other {name}" for name in differing(run, other, ("memory", "printed"))
            ]
            if not fences and run["steps"] != other["steps"]:
                found.append(f"{way}: {other['steps']} steps, run took {run['steps']}")
        # a branch to several places is one instruction, and a step for each
        if not re.search(r"brx|\.callprototype", text) and "counted" in other:
            if other["counted"] != other["steps"]:
                found.append(f"{way}: counted {other['counted']} of {other['steps']} steps")
    if chance:
        return found
    silent = not check["error"] and not check["findings"]
    if failed and silent:
        found.append(f"check finds nothing, run says {run['error']}")
    later = fences and check["error"] and check["error"][0] == "StepBudgetError"
    if not failed and check["error"] and not later:
        found.append(f"check says {check['error']}, run nothing")
    if not failed and not check["error"] and not check["stopped"]:
        found += [f"check: other {name}" for name in differing(run, check, ("memory", "printed"))]
    return found


def compare_processes(case, first, other, more_threads):
    """The same way in two processes."""
    found = []
    for way, a in first.items():
        b = other[way]
        names = set(a) | set(b)
        errors = [*(a["error"] or ()), *(b["error"] or ())]
        if errors:
            names = {"error"} if more_threads else {"error", "memory", "printed"}
            if more_threads and "StepBudgetError" in errors:
                names = set()  # which block spends the last step is open
        found += [f"{way}: other {name}" for name in sorted(names) if a.get(name) != b.get(name)]
    return found


def is_ordered(answer):
    """True where nothing in the kernel depends on which block comes first."""
    run, check = answer["run"], answer["check"]
    return not run["error"] and not check["error"] and not check["findings"]


def compare(case, answers, threads):
    """Sentences about what differs; empty where nothing does."""
    died = [
        f"{name}: died of it ({answer['died']})"
        for name, answer in answers.items()
        if "died" in answer
    ]
    if died:
        return died
    reference, first = next(iter(answers.items()))
    if not case["clean"] and not is_stable(first):
        return []
    found = []
    for name, answer in answers.items():
        found += [f"{name}: {text}" for text in compare_ways(case, answer, threads[name])]
        if name == reference or (threads[name] > 1 and case["fails"] and not is_ordered(first)):
            continue
        rows = compare_processes(case, first, answer, threads[name] > 1)
        found += [f"{name} against {reference}: {text}" for text in rows]
    if not case["fails"]:
        error = first["run"]["error"]
        found += [f"fails although it is right: {error}"] if error else []
        if case["clean"] and first["check"].get("findings"):
            found.append(f"finds what is not there: {first['check']['findings'][0]}")
    return found


# Making a case smaller ---------------------------------------------------------------------------


def kinds_of(differences):
    """What differs, without figures: a smaller case must still show one of these."""
    return {re.sub(r"\d+|\[.*", "#", text) for text in differences}


def reduce_case(crew, case, differences, tries=400):
    """The case with as few lines as still differ in the same way.

    What is wrong only because the whole is right (a false alarm) stays as it is.
    """
    wanted, lines = kinds_of(differences), case["text"].split("\n")
    if not kinds_of(crew.differences({**case, "fails": True, "clean": False})) & wanted:
        return case
    size = max(1, len(lines) // 4)
    while size >= 1 and tries > 0:
        at, changed = 0, False
        while at < len(lines) and tries > 0:
            smaller = lines[:at] + lines[at + size :]
            trial = {**case, "text": "\n".join(smaller), "fails": True, "clean": False}
            tries -= 1
            if kinds_of(crew.differences(trial)) & wanted:
                lines, changed = smaller, True
            else:
                at += size
        size = size if changed and size > 1 else size // 2
    return {**case, "text": "\n".join(lines), "fails": True, "clean": False}


def keep(folder, case, differences, small):
    """Writes what was found; returns the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "-".join(re.findall(r"\w+", case["origin"])[:2])
    path = folder / f"{name}.json"
    row = {**case, "differences": differences, "small": small["text"] if small else None}
    path.write_text(json.dumps(row, indent=1) + "\n")
    if small:
        path.with_suffix(".ptx").write_text(small["text"])
    return path


# Running -----------------------------------------------------------------------------------------


def describe(case, differences, path=None):
    kind, seed = re.findall(r"\w+", case["origin"])[:2]
    again = f"python tests/run.py fuzz.differential --kind {kind} --only {seed}"
    text = f"{case['origin']}: {len(differences)} differences; again by: {again}\n"
    text += "".join(f"    {line}\n" for line in differences[:8])
    return text + (
        f"    kept as {path} (made smaller: {path.with_suffix('.ptx')})\n" if path else ""
    )


def fuzz(crew, seeds, kinds=tuple(KINDS), out=None, say=None, until=None):
    """Cases of these seeds, one of each kind.

    Returns (how many ended in which way, descriptions of those that differ).
    """
    failures, count, ended = [], 0, collections.Counter()
    for seed in seeds:
        if until is not None and time.monotonic() > until:
            break
        for kind in kinds:
            case = KINDS[kind](seed)
            differences, count = crew.differences(case), count + 1
            ended, crew.ended = ended + crew.ended, collections.Counter()
            if differences:
                small = reduce_case(crew, case, differences) if out else None
                crew.ended.clear()
                path = keep(Path(out), case, differences, small) if out else None
                failures.append(describe(case, differences, path))
                if say:
                    say(failures[-1])
        if say and count % 500 < len(kinds):
            say(f"{count} cases, {len(failures)} that differ")
    return ended, failures


def read_case(crew, path):
    case = json.loads(Path(path).read_text())
    differences = crew.differences(case)
    print(describe(case, differences) if differences else f"{path}: nothing differs")
    return bool(differences)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="seeds (default: 500)")
    parser.add_argument("--hours", type=float, help="go on for so long, whatever --count says")
    parser.add_argument("--seed", type=int, help="of the whole run (default: a new one, printed)")
    parser.add_argument("--only", type=int, help="the case of one seed that a run printed")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--case", action="append", default=[], help="a file that a run kept")
    parser.add_argument("--jobs", type=int, default=1, help="processes beside each other")
    parser.add_argument("--out", default=str(ROOT / "build" / "fuzz"), help="where to keep cases")
    given = parser.parse_args(arguments)
    if given.case:
        with Crew() as crew:
            differing_ones = [path for path in given.case if read_case(crew, path)]
            return int(bool(differing_ones))
    if given.jobs > 1:
        return run_jobs(given)
    kinds = tuple(given.kind or KINDS)
    if given.only is not None:
        seeds = [given.only]
    else:
        seed = secrets.randbits(32) if given.seed is None else given.seed
        print(f"seed: --seed {seed} repeats this run", flush=True)
        rng = random.Random(seed)
        endless = 10**12 if given.hours else given.count
        seeds = (rng.getrandbits(40) for _ in range(endless))
    until = time.monotonic() + 3600 * given.hours if given.hours else None
    with Crew() as crew:
        ended, failures = fuzz(crew, seeds, kinds, given.out, say, until)
    rows = ", ".join(f"{name} {n}" for name, n in ended.most_common())
    print(f"{ended.total()} cases ({rows}), {len(failures)} that differ")
    return int(bool(failures))


def say(text):
    print(text, flush=True)


def run_jobs(given):
    """The same command several times, each with a seed and a share of the cases of its own."""
    seed = secrets.randbits(32) if given.seed is None else given.seed
    command = [
        sys.executable,
        __file__,
        "--count",
        str(-(-given.count // given.jobs)),
        "--out",
        given.out,
    ]
    command += ["--hours", str(given.hours)] if given.hours else []
    command += [word for kind in given.kind or () for word in ("--kind", kind)]
    jobs = [subprocess.Popen([*command, "--seed", str(seed + job)]) for job in range(given.jobs)]
    return max(job.wait() for job in jobs)


if __name__ == "__main__":
    sys.exit(main())
