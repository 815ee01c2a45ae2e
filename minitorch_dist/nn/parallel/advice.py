"""What DDP adds to an error of the network: that the others may have left the training loop.

When a rank has run out of inputs and goes on to something else, or ends, the others wait for it in
their next reduction. The network knows that it is gone, or what it does instead; what that means for
training is said here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout, PeerLost

MARK = "This happened in"


@contextmanager
def advising(iteration: int, doing: str = "the reduction of gradients") -> Iterator[None]:
    """Add to errors of the block what they mean for the training loop."""
    try:
        yield
    except (DistMismatch, DistTimeout, PeerLost) as error:
        _append(error, advice(iteration, doing, error))
        raise


def advice(iteration: int, doing: str, error: BaseException) -> str:
    who = f"rank {error.rank}" if isinstance(error, PeerLost) else "another rank"
    return (
        f"{MARK} {doing} of iteration {iteration + 1} of DistributedDataParallel. If {who} has left "
        "the training loop because it had fewer inputs, put the loop into "
        "`with Join([model]):` (minitorch_dist.distributed.algorithms.join), or give every rank "
        "the same number of batches (DistributedSampler). If only some ranks call the model, for "
        "evaluation say, let them call model.module, which needs no other rank"
    )


def _append(error: BaseException, text: str) -> None:
    said = str(error)
    if MARK not in said:
        error.args = (f"{said}. {text}", *error.args[1:])
