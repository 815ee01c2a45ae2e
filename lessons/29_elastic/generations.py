"""Training that goes on when a machine dies, stands still, or comes back.

machine 0  ─1──1──1──✗                 ┌─3──3──3──     a generation is a number, and its members;
machine 1  ─1──1──1──·····┌─2──2──2──2─┴─3──3──3──     a machine that comes, or misses another,
machine 2  ─1──1──1──·····└─2──2──2──2─┴─3──3──3──     opens the next one
"""

from typing import Any, NamedTuple

from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact

COMPUTE = 0.1  # seconds of a step
PATIENCE = 0.5  # seconds without a message until a machine takes another for dead, at first
SETTLE = 1.0  # seconds in which all others learn that a new generation is open, and join it


class Outdated(Exception):
    """This generation is over: join the next one."""


class Message(NamedTuple):
    """A share of a gradient."""

    generation: int
    step: int
    sender: int
    gradient: list[Any]


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
        # BLANK 1: membership: open a generation or join the open one, and wait until it settles (about 7 lines)
        # From `settles` on (machine.now() is the time) nobody may join it. A machine that comes
        # then opens the next one, in which others may join for SETTLE seconds. While this one
        # sleeps, others go on, and may open another generation.
        if machine.now() >= self.settles:
            self.generation, self.settles = self.generation + 1, machine.now() + SETTLE
            self.members[self.generation] = set()
        mine = self.generation
        self.members[mine].add(machine.rank)
        machine.sleep(self.settles - machine.now())
        return mine, sorted(self.members[mine])
        # END

    def save(self, machine, generation, step, weights):
        """Keep the weights after `step`. Every member brings them; once is enough."""
        machine.act(f"brings step {step}")
        # BLANK 2: may this be kept? (about 4 lines)
        # A machine that stood still for a while does not know
        # that its generation is over: it learns it here.
        if generation != self.generation:
            raise Outdated(f"generation {generation} saves, and it is {self.generation}'s turn")
        if step == self.checkpoint.step + 1:
            self.checkpoint = Checkpoint(step, weights)
        # END


def first_step(checkpoint):
    """The step with which training goes on."""
    # BLANK 3: none may be left out, and none applied twice (1 line)
    return checkpoint.step + 1
    # END


class Worker:
    """One machine's part in one generation."""

    def __init__(self, machine, generation, members, patience=PATIENCE):
        self.machine, self.generation, self.patience = machine, generation, patience
        self.others = [rank for rank in members if rank != machine.rank]
        self.got = {}  # (step, sender): gradient

    def all_reduce(self, step, gradient):
        """The sum of all members' gradients of this step."""
        for rank in self.others:
            self.machine.send(rank, Message(self.generation, step, self.machine.rank, gradient))
        while any((step, rank) not in self.got for rank in self.others):
            message = self.machine.receive(self.patience)
            if message is None:
                raise Outdated(f"a machine was silent for {self.patience} s in step {step}")
            # BLANK 4: what is to be done with this message? (about 4 lines)
            # It may be of an old generation, of this one, or
            # of a new one; and of this step or a later one.
            if message.generation > self.generation:
                raise Outdated(f"generation {message.generation} has begun without us")
            if message.generation == self.generation:
                self.got[message.step, message.sender] = message.gradient
            # END
        parts = [gradient, *(self.got.pop((step, rank)) for rank in self.others)]
        return [sum(each) for each in zip(*parts)]


def train(machine, office, batches):
    """Until all batches are in the weights, with the machines that are there."""
    patience = PATIENCE
    while True:
        generation, members = office.join(machine)
        worker, before = Worker(machine, generation, members, patience), office.checkpoint.step
        try:
            return work(worker, office, batches, members.index(machine.rank), len(members))
        except Outdated:
            # BLANK 5: no step was made since `before`? Then somebody may only be slow (about 2 lines)
            # The next generation is given up after twice the time.
            if office.checkpoint.step == before:
                patience *= 2
            # END


def work(worker, office, batches, place, size):
    """Go on where the checkpoint ends; each batch is
    divided among the machines that are there now.
    """
    model = exact.Model(hidden=4)
    for parameter, value in zip(model.parameters(), office.checkpoint.weights):
        parameter.array[...] = value
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for step in range(first_step(office.checkpoint), len(batches)):
        mine = batches[step].shares(size)[place]
        worker.machine.compute(COMPUTE)
        optimizer.zero_grad()
        exact.loss(model(mine.x), mine.y).backward()
        gradient = [parameter.grad.numpy().copy() for parameter in model.parameters()]
        for parameter, total in zip(model.parameters(), worker.all_reduce(step, gradient)):
            parameter.grad.numpy()[...] = total
        optimizer.step()
        exact.snap(model.parameters())
        office.save(worker.machine, worker.generation, step, exact.weights(model))
    return exact.weights(model)
