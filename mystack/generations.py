"""Training that goes on when a machine dies, stands still, or comes back.

machine 0  ─1──1──1──✗                 ┌─3──3──3──     a generation is a number, and its members;
machine 1  ─1──1──1──·····┌─2──2──2──2─┴─3──3──3──     a machine that comes, or misses another,
machine 2  ─1──1──1──·····└─2──2──2──2─┴─3──3──3──     opens the next one
"""

from typing import Any, NamedTuple

SETTLE = 1.0  # seconds in which all others learn that a new generation is open, and join it


class Outdated(Exception):
    """This generation is over: join the next one."""


class Checkpoint(NamedTuple):
    step: int  # the last one whose gradient is in the weights; -1: none
    weights: list[Any]


class Office:
    """The state that outlives every machine: a number and a file.

    (In real life: a store, and a shared disk.)
    """

    def __init__(self, weights):
        self.generation, self.members = 0, {0: set()}  # members: by generation
        self.settles = 0.0  # when nobody may join this generation any more
        self.checkpoint = Checkpoint(-1, weights)

    def join(self, machine):
        """Return the generation to which this machine now belongs, and its members."""
        machine.act("joins")
        if machine.now() >= self.settles:
            self.generation, self.settles = self.generation + 1, machine.now() + SETTLE
            self.members[self.generation] = set()
        mine = self.generation
        self.members[mine].add(machine.rank)
        machine.sleep(self.settles - machine.now())
        return mine, sorted(self.members[mine])

    def save(self, machine, generation, step, weights):
        """Keep the weights after `step`. Every member brings them; once is enough."""
        machine.act(f"brings step {step}")
        if generation != self.generation:
            raise Outdated(f"generation {generation} saves, and it is {self.generation}'s turn")
        if step == self.checkpoint.step + 1:
            self.checkpoint = Checkpoint(step, weights)


def first_step(checkpoint):
    """The step with which training goes on."""
    return checkpoint.step + 1
