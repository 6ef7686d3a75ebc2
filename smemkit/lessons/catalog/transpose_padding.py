"""One column of padding, where it pays."""

from .._task import Limit, Mistake, Task
from .transpose_tile import SOLUTION as PADDED
from .transpose_tile import make

START = PADDED.replace("tile[32][33]", "tile[32][32]")

TASK = Task(
    notebook=4,
    number=2,
    title="the smallest pad",
    text="""
Reads and writes of global memory are perfect now. What is left is in shared memory: a warp
reads a column of the tile. Cure it with as little more shared memory as possible.
""",
    kernel="transpose",
    start=START,
    start_says="reads of the tile make",
    hints=(
        "A column of float[32][32] lies in one bank, because a row is 32 words long.",
        "Rows of 33 words begin in bank 0, 1, 2, ...",
    ),
    solution=PADDED,
    make=make,
    sizes=((64, 64), (70, 33), (1, 100), (32, 1)),
    limits=(
        Limit("shared.load.conflicts == 0", "its reads of the tile make {value} bank conflicts"),
        Limit("shared.store.conflicts == 0", "its stores to the tile make {value} bank conflicts"),
        Limit("launch.shared_bytes <= 4224", "a smaller tile does it too: it has {value} bytes"),
    ),
    mistakes=(
        Mistake("tile[32][33]", "tile[32][34]", "reads of the tile make"),
        Mistake("tile[32][33]", "tile[33][32]", "reads of the tile make"),
        Mistake("tile[32][33]", "tile[32][35]", "a smaller tile does it too"),
    ),
)
