"""Lesson 29: machines die, stand still and come back at any place: the weights are those of one machine without a fault."""

import functools
import itertools
from contextlib import suppress
from types import SimpleNamespace

import generations

from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact
from minitorch_dist.testing.replicas import unlike_steps
from mtd.course import elastic, lamp
from mtd.course.cluster import Cluster, Trouble
from transports.conformance.bench import draw

BATCHES = [exact.data(count, seed) for seed, count in enumerate((7, 5, 6))]
DEATHS = (
    None,
    0.01,
    1.8,
)  # never comes back; comes back before anybody has noticed; when the others work again
STILL = (
    0.8,
    3.0,
)  # longer than the others' patience; longer than the next generation takes to settle


@functools.cache
def golden(steps):
    """The weights of one machine after so many steps, and those of each step before they are rounded."""
    model = exact.Model(hidden=4)
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    with exact.watched() as seen:
        for step in range(steps):
            exact.step(model, optimizer, BATCHES[step % len(BATCHES)])
    return exact.weights(model), seen


class Watched(generations.Office):
    """Notes what is kept."""

    def __init__(self):
        self.kept = []  # steps, in the order in which they were saved
        self.told, self.unlike = (
            {},
            "",
        )  # members, by generation; where two were told different ones
        super().__init__(exact.weights(exact.Model(hidden=4)))

    @property
    def checkpoint(self):
        return self.__dict__["checkpoint"]

    @checkpoint.setter
    def checkpoint(self, new):
        self.__dict__["checkpoint"] = new
        self.kept.append(new.step)

    def join(self, machine):
        generation, members = super().join(machine)
        told = self.told.setdefault(generation, members)
        if machine.rank not in members:
            self.unlike = self.unlike or (
                f"machine {machine.rank} was told the members {members} of generation {generation}, and is none of them: "
                "were they taken before the sleep, or after it?"
            )
        if told != members and not self.unlike:
            self.unlike = (
                f"one machine of generation {generation} was told the members {told}, another one {members}. They divide "
                "a batch by different numbers"
            )
        machine.note(f"is in generation {generation} with {members}")
        return generation, members


def run(size, trouble=(), batches=BATCHES, slow=None):
    """All that is asked of every run; the office, and the cluster."""
    cluster, office, steps = Cluster(size, list(trouble), slow), Watched(), []
    told = [*map(str, trouble)]
    told += [
        f"machine {rank} computes {times:g} times as long" for rank, times in (slow or {}).items()
    ]
    said = f"{size} machine{'s' * (size > 1)}; {' and '.join(told) or 'nothing happens'}"
    try:
        results = cluster.run(lambda machine: train(machine, office, batches, steps))
    except Exception as error:
        assert not office.unlike, f"{said}: {office.unlike}{tail(cluster)}"
        if "beyond its limit" in str(error):
            raise AssertionError(
                f"{said}: training never ends; at last there was generation {office.generation}, and step "
                f"{office.checkpoint.step} was saved. Why does no machine stay in a generation?{tail(cluster)}"
            ) from error
        raise AssertionError(f"{said}: {type(error).__name__}: {error}{tail(cluster)}") from error
    assert not office.unlike, f"{said}: {office.unlike}{tail(cluster)}"
    for before, step in itertools.pairwise(office.kept):
        assert step == before + 1, (
            f"{said}: after step {before} step {step} was kept. Each member brings it, and once is enough; none may be "
            f"left out{tail(cluster)}"
        )
    living = [weights for weights in results if weights is not None]
    last = office.checkpoint.step
    assert not living or last == len(batches) - 1, (
        f"{said}: all are done, and step {last} was saved last{tail(cluster)}"
    )
    wanted, alone = golden(len(batches))
    for rank, weights in enumerate(results):
        assert weights is None or exact.same(weights, wanted), (
            f"{said}: machine {rank} ends with other weights than one machine alone. A share is missing, was counted "
            f"twice, or is of another division{tail(cluster)}"
        )
    if living:
        unlike = unlike_steps(("w1", "b1", "w2", "b2"), alone, steps, is_whole=False)
        assert not unlike, f"{said}: {unlike}{tail(cluster)}"
    return office, cluster


def train(machine, office, batches, steps):
    """Notes what each life of a machine has before it rounds."""
    with exact.watched() as seen:
        steps.append(seen)
        return generations.train(machine, office, batches)


def tail(cluster):
    """The story: which machines came, went, and brought weights; messages are left out."""
    small = ("sends", "receives", "sleeps")
    events = [one for one in cluster.events if not one.what.startswith(small)][-8:]
    return "".join(f"\n    {one.at / 1e12:7.3f} s  machine {one.rank} {one.what}" for one in events)


def points(size):
    """Every action of every machine in a run in which nothing happens."""
    _, cluster = run(size)
    return [
        (machine.rank, action)
        for machine in cluster.machines
        for action in range(1, machine.actions + 1)
    ]


@lamp("correct")
def right():
    """Nothing happens: 1 to 4 machines. Then one comes late, but in time."""
    for size in range(1, 5):
        office, cluster = run(size)
        assert office.generation == 1, (
            f"{size} machine{'s' * (size > 1)}, and nothing happens: the last generation is {office.generation}, expected 1"
            f"{tail(cluster)}"
        )
    office, cluster = run(2, [Trouble(1, 1, still=0.8)])
    assert office.generation == 1, (
        f"machine 1 joins 0.8 s after machine 0, while generation 1 is open; but {office.generation} generations were "
        f"needed: do both begin when it settles?{tail(cluster)}"
    )


@lamp("death", star=1)
def death():
    """Any machine of 1, 2 or 3 dies before any of its actions, and comes back never, at once, or late."""
    for size in (1, 2, 3):
        for rank, action in points(size):
            for restart in DEATHS:
                run(size, [Trouble(rank, action, restart=restart)])


@lamp("zombie", star=2)
def zombie():
    """Any machine of 2 or 3 stands still before any of its actions, and goes on as if nothing had been."""
    for size in (2, 3):
        for rank, action in points(size):
            for still in STILL:
                run(size, [Trouble(rank, action, still=still)])


@lamp("two at once", star=2)
def two():
    """Two machines of 2 to 5, at random: 120 runs."""
    for seed in range(120):
        size = 2 + draw(4, seed, "size")
        ranks = [draw(size, seed, "first"), draw(size, seed, "second")]
        run(size, [some(seed, number, rank) for number, rank in enumerate(ranks)])


def some(seed, number, rank):
    action = 1 + draw(24, seed, number, "action")
    if draw(3, seed, number, "kind"):
        return Trouble(rank, action, restart=DEATHS[draw(3, seed, number, "restart")])
    return Trouble(rank, action, still=STILL[draw(2, seed, number, "still")])


@lamp("patience", star=2)
def patience():
    """One machine is slow, all the time: at most the others go on without it. Training ends with 2 and 3 machines."""
    for size, times in itertools.product((2, 3), (4, 7, 12, 30)):
        for rank in range(size):
            run(size, slow={rank: times})


@lamp("together", star=3)
def together():
    """A machine that comes back takes part again: the last generation has all three. Saves of old ones are refused, and
    a message of a newer one says that oneself is old."""
    refuses()
    stops()
    for rank in range(3):
        trouble = Trouble(rank, 6, restart=1.8)
        office, cluster = run(3, [trouble])
        last = sorted(office.members[office.generation])
        assert last == [0, 1, 2], (
            f"{trouble}; at the end generation {office.generation} has only {last}. The others went on by themselves, and "
            f"were never told that they are late{tail(cluster)}"
        )


def refuses():
    """The office is in generation 2, and generation 1 saves its first step."""
    office, machine = Watched(), SimpleNamespace(rank=0, act=lambda what: None)
    office.generation, office.members = 2, {0: set(), 1: {0}, 2: {1}}
    try:
        office.save(machine, 1, 0, ["old"])
    except generations.Outdated:
        said = "Outdated was raised"
    else:
        said = "no Outdated was raised, so its machine never learns that it is late"
    assert office.checkpoint.step == -1 and said.startswith("Outdated"), (
        f"generation 2 has begun, and a machine of generation 1 saves step 0: {said}; then the checkpoint has step "
        f"{office.checkpoint.step}, expected -1"
    )


def stops():
    """A machine of generation 1 waits, and a message of generation 2 comes before the one of generation 1."""
    messages = iter([message_of(2), message_of(1)])
    machine = SimpleNamespace(
        rank=0, send=lambda dst, message: None, receive=lambda timeout: next(messages, None)
    )
    try:
        found = generations.Worker(machine, 1, [0, 1]).all_reduce(0, [1.0])
    except generations.Outdated:
        return
    raise AssertionError(
        "a machine of generation 1 waits, and a message of generation 2 comes: so it is late, and has to stop with "
        f"Outdated. Yours went on, and all_reduce gave {found}"
    )


def message_of(generation):
    """The message that a machine of this generation sends in step 0."""
    sent = []
    machine = SimpleNamespace(
        rank=1, send=lambda dst, message: sent.append(message), receive=lambda timeout: None
    )
    with suppress(generations.Outdated):
        generations.Worker(machine, generation, [0, 1]).all_reduce(0, [1.0])
    return sent[0]


@lamp("in the library", star=3)
def library():
    """The same with DDP and real collectives, under the simulator's crashes: your office and your first step."""
    elastic.in_the_library(generations, BATCHES, *golden(len(BATCHES)))


def generations_of_a_death():
    office, _ = run(3, [Trouble(1, 7, restart=3.0)])
    return office.generation


def picture():
    """Machine 1 dies in step 1 and comes back: digits are generations, a column is 0.1 s."""
    _, cluster = run(3, [Trouble(1, 9, restart=2.5)], BATCHES * 4)
    return elastic.lanes(cluster)
