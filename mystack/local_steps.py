"""To talk seldom, in few bits, and only with those who are there.

machine 0  ▓▓▓▓|▓▓▓▓|▓▓▓▓|▓▓▓▓|▓▓▓▓|      ▓  a step by itself
machine 1  ▓▓▓▓|▓▓▓▓ ✗      ┌▓▓▓▓|▓▓▓▓|      |  a quorum: the changes of all that are there
machine 2  ▓▓▓▓|▓▓▓▓|▓▓▓▓▓▓▓▓▓|▓▓▓▓|         ┌  the state of a peer
"""

from .face import tensors as torch
from .face import distributed as dist


def outer_step(weights, velocity, change, rate, momentum):
    """The weights and the velocity after a step against `change`.

    This is SGD with Nesterov's momentum, and `change` is its gradient.
    """
    velocity = momentum * velocity + change
    return weights - rate * (change + momentum * velocity), velocity


def average(number, change):
    """Over all ranks; `number` says which parameter it is."""
    dist.all_reduce(change)
    return change / dist.get_world_size()


class DiLoCo:
    """Each rank takes `every` steps of its `inner` optimizer by itself. Then all take one together.

    With rate 1 and momentum 0 that is the average of all ranks' weights.
    """

    def __init__(self, parameters, inner, every, rate=0.7, momentum=0.9, average=average):
        self.parameters, self.inner, self.every = [*parameters], inner, every
        self.rate, self.momentum, self.average = rate, momentum, average
        self.kept = [p.detach().clone() for p in self.parameters]  # as all ranks have them
        self.velocity = [torch.zeros_like(p) for p in self.kept]
        self.steps = 0

    def step(self):
        """In the place of `inner.step()`."""
        self.inner.step()
        self.steps += 1
        if self.steps % self.every == 0:
            self.talk()

    def talk(self):
        """All ranks go on from the same weights."""
        for k, p in enumerate(self.parameters):
            change = self.average(k, self.kept[k] - p.detach())
            self.kept[k], self.velocity[k] = outer_step(
                self.kept[k], self.velocity[k], change, self.rate, self.momentum
            )
            p.data.copy_(self.kept[k])
