# %% [markdown]
# # 10 Where the time goes: one kernel, term by term
#
# **Question.** A product of two matrices takes 80 ms on an H200, and could take 3. What is it doing
# for the other 77? Counters say what happens, and a clock says how long it takes. Can you get from
# the one to the other, for a card that you do not have?
#
# Nothing here needs a GPU: smemkit counts on a simulator what the GPU's memory would do. One time
# comes from a record that was made on an H200.

# %% jupyter={"source_hidden": true} tags=["setup"]
import importlib.util
import subprocess
import sys
import tempfile

if importlib.util.find_spec("smemkit") is None:  # as in Colab
    REPOSITORY = ""  # what git clone takes: the address of this repository
    assert REPOSITORY, "smemkit is not installed: write into REPOSITORY what git clone takes"
    with tempfile.TemporaryDirectory() as clone:
        subprocess.run(["git", "clone", "--depth", "1", REPOSITORY, clone], check=True)
        subprocess.run([sys.executable, "-m", "pip", "install", f"{clone}[plot,nvrtc]"], check=True)

# %%
import numpy

import smemkit
from smemkit import bench, plot

CARD = "H200"  # your choice; smemkit.cards() lists them

# %% [markdown]
# ## The kernel
#
# `gemm/column` stages tiles of 32 x 32 in shared memory, as `tiled` does, but its warps walk down
# the columns of one. Notebook 01 shows what that does to the banks. Here it is the patient:

# %%
source = smemkit.source("gemm", "column")
print(source[source.index("        // Compute.") : source.index("    // Write.")])

# %% [markdown]
# ## What it does: counts
#
# For n = 4096 there are 128 x 128 blocks, and all do the same. So it is enough to count six of
# them, and to scale.

# %%
n = 4096
a = numpy.broadcast_to(numpy.float32(1), (n, n))  # takes no memory
report = smemkit.profile(smemkit.gemm, a, a, variant="column", blocks=6, backend="sim")
counted, total = report.sampled
counters = report.counters
names = ("shared.load.wavefronts", "shared.store.wavefronts", "global.load.sectors")
count = {name: counters[name] * total / counted for name in names}
print(f"{counted} of {total:,} blocks counted; of all of them:")
for name, number in count.items():
    print(f"{name:24} {number:18,.0f}")

# %% [markdown]
# ## How fast the parts are: the card
#
# A card is a few numbers. They come from manuals, from published measurements, and of the H200 from
# probes that ran on it; `card.sources` says which.

# %%
card = smemkit.card(CARD)
clocks = card.clock_mhz * 1e3  # in a millisecond
wave = 128  # bytes of a wavefront: a word of each of 32 banks
print(f"{card.multiprocessors:.0f} multiprocessors, {card.clock_mhz:.0f} million clocks a second")
print(f"{card.shared_bytes_per_clk:.0f} bytes of shared memory a clock, in each of them")
print(f"{card.l2_bytes_per_clk:.0f} bytes from the L2 cache a clock, in each")
print(f"{card.dram_gbs:.0f} GB/s from memory, for all together")

# %% [markdown]
# Each part of the card takes its own time for what the kernel asks of it: *amount / rate*. That is
# a **term**. Work them out with a pencil before the machine does.
#
# ## Question 1: the arithmetic
#
# n³ multiply-adds, 32 in one instruction of a warp. A multiprocessor of this card begins so many
# of these instructions in a clock as `lanes` below says, divided by 32. How many milliseconds would
# the card take, if nothing else took any time?

# %%
lanes = 64 if card.compute_capability in ("7.5", "8.0") else 128
answer = None  # your answer, in milliseconds


def check_arithmetic(ms):
    right = n**3 / lanes / card.multiprocessors / clocks
    assert ms < 2 * right, "a multiply-add is one operation, and all multiprocessors work"
    assert ms > right / 2, "each lane of each multiprocessor makes one in a clock"
    print(f"right: {right:.2f} ms")


if answer is not None:
    check_arithmetic(answer)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
check_arithmetic(n**3 / lanes / card.multiprocessors / clocks)

# %% [markdown]
# ## Question 2: shared memory
#
# The wavefronts are counted above. A multiprocessor serves one of them in
# `wave / card.shared_bytes_per_clk` clocks. How many milliseconds do they take? And how many would
# they take without a conflict, with one wavefront for each load and store?

# %%
answer = None  # your answer: (milliseconds, milliseconds without conflicts)
requests = sum(counters[f"shared.{op}.instructions"] for op in ("load", "store"))


def time_shared(wavefronts):
    return wavefronts * wave / card.shared_bytes_per_clk / card.multiprocessors / clocks


def check_shared(pair):
    right = time_shared(count["shared.load.wavefronts"] + count["shared.store.wavefronts"])
    least = time_shared(requests * total / counted)
    assert abs(pair[0] / right - 1) < 0.1, "loads and stores, over all multiprocessors and clocks"
    assert abs(pair[1] / least - 1) < 0.1, "`requests` are those of the counted blocks"
    print(f"right: {right:.1f} ms, and {least:.1f} ms without conflicts")


if answer is not None:
    check_shared(answer)

# %% jupyter={"source_hidden": true} tags=["solution"]
stores_and_loads = count["shared.load.wavefronts"] + count["shared.store.wavefronts"]
check_shared((time_shared(stores_and_loads), time_shared(requests * total / counted)))

# %% [markdown]
# ## Question 3: the memory
#
# Three matrices of n x n floats must move between the chip and its memory once. How long does that
# take? And the sectors above (32 bytes each), which come from the L2 cache? (What that cache has no
# room to keep is fetched again. So the machine will say more for the memory than your pencil.)

# %%
answer = None  # your answer: (milliseconds of memory, milliseconds of the L2 cache)


def check_memory(pair):
    memory = 3 * 4 * n**2 / card.dram_gbs / 1e6
    rate = card.l2_bytes_per_clk * card.multiprocessors * clocks
    cache = 32 * count["global.load.sectors"] / rate
    assert abs(pair[0] / memory - 1) < 0.2, "4 bytes a float; 1 GB/s is a million bytes in a ms"
    assert abs(pair[1] / cache - 1) < 0.2, "all multiprocessors fetch at the same time"
    print(f"right: {memory:.3f} ms from memory, {cache:.2f} ms from L2")


if answer is not None:
    check_memory(answer)

# %% jupyter={"source_hidden": true} tags=["solution"]
at_once = card.l2_bytes_per_clk * card.multiprocessors * clocks
check_memory((12 * n**2 / card.dram_gbs / 1e6, 32 * count["global.load.sectors"] / at_once))

# %% [markdown]
# ## All terms together
#
# `smemkit.predict` does what you did, for every part of the card, with the instructions that the
# card would execute.
#
# ## Question 4: all of them
#
# **Predict** before you look: the parts work at the same time. How many milliseconds does the whole
# kernel take, by the terms that you have worked out so far? Is it their *sum*, or the *longest* of
# them?

# %%
answer = None  # your answer, in milliseconds
prediction = smemkit.predict(smemkit.gemm, a, a, variant="column", device=CARD)


def check_whole(ms):
    low, high = prediction.low_ms, prediction.high_ms
    assert ms > 0.9 * low, "no kernel is faster than its longest term: which one is that?"
    assert ms < 1.1 * high, "what is shorter than the longest term hides behind it"
    print(f"right: {prediction.time_ms:.1f} ms, expected from {low:.1f} to {high:.1f} ms")


if answer is not None:
    check_whole(answer)

# %% jupyter={"source_hidden": true} tags=["solution"]
check_whole(time_shared(stores_and_loads))

# %%
ax = plot.terms(prediction)

# %%
times = [term.time_ms for term in prediction.terms.values()]
print("at least the longest:", prediction.time_ms >= 0.99 * max(times))
print("less than the sum:   ", prediction.time_ms < sum(times))
print("limited by:          ", prediction.limited_by)

# %% [markdown]
# The longest term decides, and what is shorter hides behind it. So it does not help to make any
# other term shorter. Some words of the picture:
#
# - `multiprocessor` is one multiprocessor at work: its schedulers, its pipes and its shared memory
#   together, simulated instruction by instruction;
# - `latency` and `barriers` are clocks in which no warp could go on, because all of them waited;
# - `issue` is all instructions: a multiprocessor begins four in a clock;
# - `l1` is the unit that serves shared memory *and* the L1 cache, so it takes a little longer than
#   shared memory alone;
# - the grey band is the range of the prediction. It becomes wider where something is not known.

# %%
for name in ("shared", "issue", "l2", "latency"):
    print(f"{name:10} {prediction.terms[name].meaning}")
print("\nmost wavefronts:", prediction.terms["shared"].source)

# %% [markdown]
# ## Does the clock agree?
#
# On an H200 all variants were measured. The hatched bars are predictions; nobody fitted them to
# the full ones.

# %%
few = ("naive", "tiled", "column", "column_padded")
measured = bench.recorded("h200")
words = {"predicted": True, "device": "h200", "results": measured}
ax = plot.ladder(bench.evolution("gemm", n, variants=few, **words), unit="median_ms")

# %% [markdown]
# ## Question 5: another card
#
# A kernel that is limited by its wavefronts of shared memory is limited by three numbers of the
# card. How many times as long would it take on a T4?

# %%
answer = None  # your answer: times as long as on CARD


def rate_shared(which):
    return which.shared_bytes_per_clk * which.multiprocessors * which.clock_mhz


def check_other(times):
    other = smemkit.predict(smemkit.gemm, a, a, variant="column", device="t4")
    right = rate_shared(card) / rate_shared(smemkit.card("t4"))
    assert abs(times / right - 1) < 0.15, "banks x multiprocessors x clocks, of both cards"
    found = other.time_ms / prediction.time_ms
    assert abs(found / right - 1) < 0.3, "then it is limited by something else on one of them"
    print(f"right: {right:.1f} times, by the pencil; the prediction is within 30 % of it")


if answer is not None:
    check_other(answer)

# %% jupyter={"source_hidden": true} tags=["solution"]
check_other(rate_shared(card) / rate_shared(smemkit.card("t4")))

# %% [markdown]
# ## Question 6: take the longest term away
#
# One more column in the tile, and the conflicts are gone. **Predict** from the first picture and
# from your answer to question 2: how many milliseconds does the kernel take then? (Not as long as
# the second longest term of the picture: that one is served by the same wavefronts.)

# %%
answer = None  # your answer, in milliseconds
cured = smemkit.predict(smemkit.gemm, a, a, variant="column_padded", device=CARD)


def check_cured(ms):
    least = max(time_shared(requests * total / counted), cured.terms["issue"].time_ms)
    longest = cured.terms[cured.limited_by]
    assert ms > 0.8 * least, "a wavefront for each access, and all instructions, are left"
    assert ms < 0.5 * prediction.time_ms, "the second longest term falls with the longest one"
    near = abs(ms / cured.time_ms - 1) < 0.35
    assert near, f"{longest.name} ({longest.meaning}) alone takes {longest.time_ms:.1f} ms"
    print(f"right: {cured.time_ms:.1f} ms, limited by {cured.limited_by}")


if answer is not None:
    check_cured(answer)

# %% jupyter={"source_hidden": true} tags=["solution"]
check_cured(1.2 * cured.terms[cured.limited_by].time_ms)  # it does not hide all of the others

# %%
ax = plot.terms(cured)

# %%
was, now = prediction.terms["shared"].amount, cured.terms["shared"].amount
print(f"{was / now:.1f} times fewer wavefronts")
print("more than half of the time is gone:", cured.time_ms < prediction.time_ms / 2)

# %% [markdown]
# And on it goes: the next kernel of the ladder takes the next term down, by keeping operands in
# registers. Which variant would be the fastest, and which may be as fast, says
# `smemkit.rank(smemkit.gemm, a, a, device=CARD)`; it predicts each of them, so it takes a while.
#
# ## Question 7: what is not worth it
#
# Somebody wants to make `column` faster by fetching a and b from memory twice as fast. What would
# the kernel gain, at most, in percent of its time?

# %%
answer = None  # your answer: percent


def check_gain(percent):
    hidden = prediction.terms["dram"].time_ms / prediction.time_ms
    assert percent < 5, f"memory alone takes {hidden:.0%} of the time, and hides behind the rest"
    print("right: next to nothing, because it is not the longest term")


if answer is not None:
    check_gain(answer)

# %% jupyter={"source_hidden": true} tags=["solution"]
check_gain(0)

# %% [markdown]
# ## To try
#
# - `print(prediction)` has all numbers, the occupancy, and what is not known. Which notes does
#   another card have?
# - Set CARD to the name of your card, and run the notebook again. Is the longest term the same?
# - `kernel.predict(grid, block, args, device=CARD)` predicts a kernel of your own (notebook 09).
# - Where is a prediction wrong? [The page on predictions](../docs/predict.md) compares them with
#   all times that were measured on an H200, and says what they do not know.
