"""The command predict: what a call would take on one card or several, without them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import smemkit

from .errors import UsageError
from .kernel_arguments import FORMS
from .options import add_seed, output_or_stdout, whole
from .profile import CallOptions, add_call_options, make_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..predict import Prediction, Ranking
    from ._types import Commands


class PredictOptions(CallOptions):
    """The command line of `smemkit predict`."""

    device: list[str]
    rank: bool
    cache: Literal["warm", "cold"]


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    words = "what a call would take on a card, term by term, without the card"
    parser = commands.add_parser(
        "predict",
        help=words,
        description=f"{words}; on the simulator, no GPU needed",
        epilog=f"cards: {', '.join(smemkit.cards())}\n{FORMS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, backend=None)
    parser.add_argument(
        "what",
        help="a family (gemm), a kernel of it (gemm/tiled), or a file: kernel.cu, kernel.ptx",
    )
    add_call_options(parser)
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="CARD",
        help='a card ("RTX 4090"); repeatable (default: H200)',
    )
    parser.add_argument(
        "--cache",
        choices=("warm", "cold"),
        default="warm",
        help="warm: the call has just run, so that what fits into the L2 cache is there (default)",
    )
    parser.add_argument(
        "--rank",
        action="store_true",
        help="all variants of a family, the fastest first, with those that may be as fast",
    )
    parser.add_argument("--blocks", type=whole(1), help="count so many blocks of each launch")
    add_seed(parser, 0, "of random values (default: 0)")
    parser.add_argument(
        "--json",
        type=output_or_stdout,
        metavar="FILE",
        help="write the predictions as JSON, a list; - is standard output",
    )


def run(chosen: PredictOptions) -> int:
    """Predicts, prints, and returns the exit status."""
    cards = [smemkit.card(name) for name in chosen.device or ["h200"]]
    call = make_call(chosen)
    function: Callable[..., Prediction | Ranking] = smemkit.predict
    if chosen.rank:
        if call.keywords.pop("variant", None) != "auto":
            raise UsageError("--rank compares the variants of a family: name one alone, as gemm")
        function = smemkit.rank
    words = {**call.keywords, "cache": chosen.cache}
    done = [function(call.function, *call.arguments, device=card, **words) for card in cards]
    text = json.dumps([each.to_dict() for each in done], indent=1, allow_nan=False) + "\n"
    if chosen.json == "-":
        print(text, end="")
        return 0
    print("\n\n".join(map(str, done)))
    if chosen.json:
        Path(chosen.json).write_text(text, encoding="utf-8")
    return 0
