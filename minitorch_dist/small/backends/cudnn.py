"""cuDNN's switches: numpy has one algorithm for each operation, whatever is set here."""

from minitorch_dist.inventory import not_offered

not_offered.guard(globals())

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    return False


def version() -> int | None:
    return None
