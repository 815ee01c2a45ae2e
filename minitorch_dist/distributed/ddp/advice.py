"""The advice that DDP adds to an error of the network: the other ranks may have left the training loop.

When a rank has run out of inputs and goes on to something else, or ends, the others wait for it in
their next reduction. The network knows that it is gone, or what it does instead; this module says what that
means for training.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout, PeerLost

MARK = "This happened in"
REDUCTION = "the reduction of gradients"


@contextmanager
def advising(iteration: int, doing: str = REDUCTION) -> Iterator[None]:
    """Add to errors of the block what they mean for the training loop."""
    try:
        yield
    except BaseException as error:
        add(error, iteration, doing)
        raise


def add(error: BaseException, iteration: int, doing: str = REDUCTION) -> None:
    """Add to an error of the network, once, what it means for the training loop."""
    said = str(error)
    if isinstance(error, (DistMismatch, DistTimeout, PeerLost)) and MARK not in said:
        error.args = (f"{said}. {advice(iteration, doing, error)}", *error.args[1:])


def advice(iteration: int, doing: str, error: BaseException) -> str:
    who = f"rank {error.rank}" if isinstance(error, PeerLost) else "another rank"
    return (
        f"{MARK} {doing} of iteration {iteration + 1} of DistributedDataParallel. If {who} has left "
        "the training loop because it had fewer inputs, put the loop into "
        "`with Join([model]):` (minitorch_dist.distributed.algorithms.join), or give every rank "
        "the same number of batches (DistributedSampler). If only some ranks call the model, for "
        "evaluation say, let them call model.module, which needs no other rank"
    )
