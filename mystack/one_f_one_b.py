"""One forward, one backward: as soon as a micro-batch
can go back it does, and its memory is free again.

stage 0   F0 F1 F2  ·  · B0 F3 B1  · B2  · B3      warm-up: as many forwards as stages from here on
stage 1    · F0 F1  · B0 F2 B1 F3 B2  · B3  ·      then in turns, one backward and one forward
stage 2    ·  · F0 B0 F1 B1 F2 B2 F3 B3  ·  ·      at last the backwards that are left
"""

from . import stages

from .face import distributed as dist
from .face.orders import Action, B, F


def one_forward_one_backward(rank, pipe):
    """The actions of stage `rank` of `pipe.ranks`
    with its `pipe.microbatches`, one after another.
    """
    ahead = min(pipe.ranks - rank, pipe.microbatches)
    order = [Action(rank, F, k) for k in range(ahead)]
    for k in range(pipe.microbatches):
        order.append(Action(rank, B, k))
        if k + ahead < pipe.microbatches:
            order.append(Action(rank, F, k + ahead))
    return order


class Stage(stages.Stage):
    """As in lesson 26; but activations now go right
    while gradients go left, so sends may not wait.
    """

    def __init__(self, layers, columns):
        super().__init__(layers, columns)
        self.leaving = []  # sends that are under way; each keeps its tensor in memory

    def step(self, order, microbatches, loss):
        super().step(order, microbatches, loss)
        for work in self.leaving:
            work.wait()

    def send(self, tensor, to, k):
        self.leaving = [work for work in self.leaving if not work.is_completed()]
        self.leaving.append(dist.isend(tensor, to, tag=k))


def own(rank, pipe):
    """Your entry for the contest: any order that can
    be carried out, on paper. Is there a faster one?

    A backward B may be split into I (the gradient of what came in; the stage before waits for it)
    and W (that of the weights; nobody waits for it), each half as long: orders.I and orders.W.
    """
    return one_forward_one_backward(rank, pipe)
