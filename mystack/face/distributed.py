"""torch.distributed, as the lessons ask for it: each collective is a lesson's.

broadcast, reduce                          the tree of lesson 11
all_reduce                                 ring (13), doubling or halving (14), as lesson 15 chooses; or in order (16)
all_gather_into_tensor, reduce_scatter_…   lesson 13: from the left neighbour, so that a fast rank cannot be one call ahead
isend, async_op=True                       a thread that sends while we go on: lessons 07 and 19
"""

from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from types import SimpleNamespace

from .. import mailboxes


class ReduceOp(Enum):
    SUM = "sum"
    PRODUCT = "product"
    MAX = "max"
    MIN = "min"


LINKS = SimpleNamespace(
    alpha=50_000_000, beta=1_000
)  # picoseconds: loopback, roughly; lesson 15 chooses by it
algorithm = None  # the name of one, instead of the choice


def is_initialized():
    return mailboxes.world is not None


get_rank, get_world_size = mailboxes.get_rank, mailboxes.get_world_size
send = mailboxes.send


def recv(tensor, src=None, tag=0):
    """Lesson 05's; but a message of another shape is no answer."""
    return mailboxes.recv(Exactly(tensor), src, tag)


class Exactly:
    """A tensor that takes a message of its own shape only."""

    def __init__(self, tensor):
        self.tensor = tensor

    def copy_(self, came):
        if came.shape != self.tensor.shape:
            raise ValueError(f"{came.shape} came, and {self.tensor.shape} was to be received")
        self.tensor.copy_(came)


class Work:
    """Something that goes on meanwhile."""

    def __init__(self, future=None):
        self.future = future

    def wait(self):
        if self.future:
            self.future.result()

    def is_completed(self):
        return self.future is None or self.future.done()


def isend(tensor, dst, tag=0):
    """The wires here keep what cannot go at once, so a send never waits for its receive."""
    send(tensor, dst, tag)
    return Work()


def worker():
    """The thread that communicates while the rank computes. Collectives go through it one after another."""
    extras = mailboxes.world.extras
    if "worker" not in extras:
        extras["worker"] = ThreadPoolExecutor(1)
    return extras["worker"]


def in_turn(function, *args, async_op=False):
    """Call it, but not before the collectives that are under way are over."""
    if async_op:
        work = Work(worker().submit(function, *args))
        mailboxes.world.extras["last"] = work
        return work
    mailboxes.world.extras.get("last", Work()).wait()
    return function(*args)


# The lessons' modules import this one, so they are imported when they are needed.


def all_reduces():
    from .. import doubling, neighbour, order, ring

    return {
        "ring": ring.all_reduce,
        "recursive_doubling": doubling.all_reduce,
        "rabenseifner": doubling.rabenseifner,
        "binomial": up_and_down,
        "neighbour": lambda tensor, op: neighbour.all_reduce(tensor),
        "in_order": lambda tensor, op: order.all_reduce(tensor),
    }


def all_reduce(tensor, op=ReduceOp.SUM, async_op=False):
    from .. import choice

    name = algorithm or choice.choose(get_world_size(), tensor.nbytes, LINKS)
    return in_turn(all_reduces()[name], tensor, op, async_op=async_op)


def up_and_down(tensor, op):
    from .. import ring, tree

    tree.reduce(tensor, 0, ring.COMBINE[op])
    tree.broadcast(tensor, 0)


def broadcast(tensor, src):
    from .. import tree

    in_turn(tree.broadcast, tensor, src)


def reduce(tensor, dst):
    from .. import tree

    in_turn(tree.reduce, tensor, dst)


def all_gather_into_tensor(output, tensor):
    """All ranks' tensors one after another."""
    from .. import ring

    in_turn(ring.all_gather, output, tensor)


def all_to_all_single(output, tensor, output_split_sizes=None, input_split_sizes=None):
    """Some rows to each rank, and some from each: lesson 13's where all parts are equal."""
    from .. import ring

    if output_split_sizes is None:
        in_turn(ring.all_to_all, output, tensor)
    else:
        in_turn(uneven, output.split(output_split_sizes), tensor.split(input_split_sizes))


def uneven(taken, given):
    rank, size = get_rank(), get_world_size()
    taken[rank].copy_(given[rank])
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        isend(given[to], to)
        recv(taken[source], source)


def reduce_scatter_tensor(output, tensor):
    """This rank's part of the sum."""
    from .. import ring

    in_turn(ring.reduce_scatter, output.view(-1), tensor)
