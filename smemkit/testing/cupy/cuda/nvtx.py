"""cupy.cuda.nvtx: ranges, which nobody reads."""


def RangePush(message: str, id_color: int = -1) -> None:
    """Nothing."""


def RangePop() -> None:
    """Nothing."""


def Mark(message: str, id_color: int = -1) -> None:
    """Nothing."""


RangePushC = RangePush
