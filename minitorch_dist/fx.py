"""torch.fx, which rewrites models as graphs, is not offered: imports go on, calls say so."""

from typing import TypeVar

from minitorch_dist.absent import absent

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

Wrapped = TypeVar("Wrapped")

__getattr__ = absent(
    "fx",
    "Graph GraphModule Interpreter Node Proxy Tracer Transformer has_side_effect map_arg replace_pattern "
    "symbolic_trace",
    "Call the model itself; forward hooks show what its layers get and give.",
)


def wrap(fn_or_name: Wrapped) -> Wrapped:
    """The function itself: nothing is traced here, so that nothing has to be kept whole."""
    return fn_or_name
