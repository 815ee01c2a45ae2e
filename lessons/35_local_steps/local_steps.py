"""To talk seldom, in few bits, and only with those who are there.

machine 0  ▓▓▓▓|▓▓▓▓|▓▓▓▓|▓▓▓▓|▓▓▓▓|      ▓  a step by itself
machine 1  ▓▓▓▓|▓▓▓▓ ✗      ┌▓▓▓▓|▓▓▓▓|      |  a quorum: the changes of all that are there
machine 2  ▓▓▓▓|▓▓▓▓|▓▓▓▓▓▓▓▓▓|▓▓▓▓|         ┌  the state of a peer
"""

from typing import Any, NamedTuple

import minitorch_dist as torch
import minitorch_dist.distributed as dist

TICK = 0.01  # seconds between two looks at the lighthouse
PATIENCE = 0.5  # seconds without a message until a machine gives a quorum up, at first


def outer_step(weights, velocity, change, rate, momentum):
    """The weights and the velocity after a step against `change`.

    This is SGD with Nesterov's momentum, and `change` is its gradient.
    """
    # BLANK 1: the velocity first; it counts already in this step (about 3 lines)
    velocity = momentum * velocity + change
    return weights - rate * (change + momentum * velocity), velocity
    # END


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
            # BLANK 2: how far has this rank come from `kept`? All take a step by the average (about 3 lines)
            # Towards which side: outer_step goes *against* a change.
            change = self.average(k, self.kept[k] - p.detach())
            self.kept[k], self.velocity[k] = outer_step(
                self.kept[k], self.velocity[k], change, self.rate, self.momentum
            )
            p.data.copy_(self.kept[k])
            # END


def to_bytes(tensor):
    """Whole numbers from -127 to 127, and a scale: about `tensor` if they are multiplied."""
    scale = tensor.abs().max() / 127
    return torch.round(tensor / scale if scale else tensor).to(torch.int8), scale


class Rounded:
    """As `average`, but each number is sent as one byte."""

    def __init__(self):
        self.missing = {}  # by parameter: by how much the others have too little from this rank

    def __call__(self, number, change):
        # BLANK 3: send what is missing as well, and remember what is missing now (about 3 lines)
        # `levels`, `scale` = to_bytes(…) is what the others get.
        wanted = change + self.missing.get(number, 0)
        levels, scale = to_bytes(wanted)
        self.missing[number] = wanted - levels * scale
        # END
        size = dist.get_world_size()
        every = [torch.empty_like(levels) for _ in range(size)]
        scales = [torch.empty_like(scale) for _ in range(size)]
        dist.all_gather(every, levels)
        dist.all_gather(scales, scale)
        return sum(some * one for some, one in zip(every, scales)) / size


# ------------------------------------------------------------------------------ a quorum each time


class Silent(Exception):
    """A member of the quorum says nothing. Nothing of this quorum counts for this machine."""


class State(NamedTuple):
    """All that a machine needs to go on as the others do."""

    steps: int  # how many quorums have changed it
    version: int  # the last of them
    weights: Any
    velocity: Any
    counted: dict[Any, int]  # by life: the number of its last change that is in the weights


class Change(NamedTuple):
    """The work of a machine between two quorums."""

    life: Any  # a machine that starts again is another one
    number: int
    value: Any


class Quorum(NamedTuple):
    number: int
    expected: set[int]  # the members of the one before
    members: dict[int, tuple[int, int]]  # by rank: steps and version of its state


class Lighthouse:
    """It outlives every machine, and says who takes part."""

    def __init__(self, ranks):
        self.number = 0
        self.open = None  # the quorum that may still be joined
        self.closes = 0.0  # and until when
        self.last = {*ranks}  # the members of the one before; at first all

    def ask(self, machine, state, patience):
        """Wait for the next quorum, of which this machine is a member."""
        machine.act("asks")
        # BLANK 4: join the open quorum or open the next one, and wait in ticks until it closes (about 10 lines)
        # It closes when all of `last` are there, and at `closes` in any case: `patience`
        # after it was opened. The first one that sees this closes it for all: self.open = None.
        if self.open is None:
            self.number += 1
            self.open, self.closes = Quorum(self.number, self.last, {}), machine.now() + patience
        mine = self.open
        mine.members[machine.rank] = (state.steps, state.version)
        while self.open is mine and machine.now() < self.closes and mine.expected - {*mine.members}:
            machine.sleep(TICK)
        if self.open is mine:
            self.open, self.last = None, {*mine.members}
        return mine
        # END


class Message(NamedTuple):
    quorum: int
    sender: int
    content: Any  # a State, or a list of changes


class Box:
    """A machine's messages in one quorum."""

    def __init__(self, machine, quorum, patience):
        self.machine, self.quorum, self.patience = machine, quorum, patience
        self.found = {}

    def send(self, to, content):
        self.machine.send(to, Message(self.quorum.number, self.machine.rank, content))

    def take(self, sender, kind):
        """The message of this kind from this member. Messages of other quorums are thrown away."""
        while (sender, kind) not in self.found:
            message = self.machine.receive(self.patience)
            if message is None:
                raise Silent(f"machine {sender} is silent in quorum {self.quorum.number}")
            if message.quorum == self.quorum.number:
                self.found[message.sender, type(message.content)] = message.content
        return self.found[sender, kind]


def heal(box, state):
    """The newest state of the quorum: one's own, or that of a peer."""
    members, rank = box.quorum.members, box.machine.rank
    newest = max(members.values())
    source = min(member for member, known in members.items() if known == newest)
    if not box.quorum.expected & {*members}:
        raise Silent("nobody of the quorum before is in this one, so it is not certain to be newer")
    # BLANK 5: the source sends its state to all who are behind; these take it (about 6 lines)
    # box.send(member, state), and box.take(source, State)
    if members[rank] < newest:
        return box.take(source, State)
    if rank == source:
        for member, known in members.items():
            if known < newest:
                box.send(member, state)
    return state
    # END


def not_yet(state, changes):
    """Those of a machine's changes that are not in the weights of this state."""
    # BLANK 6: state.counted.get(life, 0) is the number of the last one that is (about 1 line)
    # A peer may have had the message of a quorum that this machine gave up.
    return [one for one in changes if one.number > state.counted.get(one.life, 0)]
    # END


def exchange(box, state, changes, outer):
    """The state after this quorum, to which this machine brings its changes."""
    rank, members = box.machine.rank, sorted(box.quorum.members)
    for member in members:
        if member != rank:
            box.send(member, changes)
    every = [changes if member == rank else box.take(member, list) for member in members]
    found = [one for some in every for one in some]
    counted = state.counted | {one.life: one.number for one in found}
    weights, velocity = outer(state.weights, state.velocity, [one.value for one in found])
    return State(state.steps + 1, box.quorum.number, weights, velocity, counted)


def train(machine, lighthouse, state, work, outer, steps, patience=PATIENCE):
    """Until so many quorums have changed the weights.

    `work(machine, weights)` is some steps by itself, and returns the change. A machine that
    starts, for the first time or again, begins with a quorum: perhaps it is behind.
    """
    changes, life, number = [], None, 0
    while state.steps < steps:
        quorum = lighthouse.ask(machine, state, patience)
        life = life or (machine.rank, quorum.number)
        box = Box(machine, quorum, patience)
        try:
            state = heal(box, state)
            changes = not_yet(state, changes)
            state = exchange(box, state, changes, outer)
        except Silent:
            # BLANK 7: is a member dead, or are messages slower than we thought? (1 line)
            patience *= 2
            # END
            continue
        number += 1
        changes = [*changes, Change(life, number, work(machine, state.weights))]
    return state
