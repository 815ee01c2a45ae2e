"""Machines that work, die and come back, and what the changes in their weights say afterwards."""

import functools

import local_steps

from mtd.course.cluster import Cluster, Trouble
from transports.conformance.bench import draw

DEATHS = (None, 0.01, 1.8)  # never comes back; before anybody has noticed; when the others go on

STILL = (0.8, 2.0)  # the others still wait; they have gone on

WORK, STEPS = 0.4, 4


class Found:
    """A run, and all that was noted in it."""

    def __init__(self, size, trouble=(), slow=None, patience=local_steps.PATIENCE, steps=STEPS):
        self.cluster = Cluster(size, list(trouble), slow)
        self.lighthouse = local_steps.Lighthouse(range(size))
        self.made, self.states = {}, {}  # changes by (machine, life); states by version
        self.works = []  # (machine, from, until) in seconds
        self.unlike = ""
        told = [*map(str, trouble)]
        told += [
            f"machine {rank} computes {times:g} times as long"
            for rank, times in (slow or {}).items()
        ]
        self.said = f"{size} machine{'s' * (size > 1)}; {' and '.join(told) or 'nothing happens'}"
        first = local_steps.State(0, 0, (), 0, {})
        try:
            self.results = self.cluster.run(
                lambda machine: local_steps.train(
                    machine, self.lighthouse, first, self.work, self.outer, steps, patience
                )
            )
        except Exception as error:
            ends = (
                "training never ends"
                if "beyond its limit" in str(error)
                else f"{type(error).__name__}: {error}"
            )
            raise AssertionError(f"{self.said}: {ends}{self.tail()}") from error
        self.judge()

    def work(self, machine, weights):
        """A change that nobody else makes: (machine, life, number)."""
        begin = machine.now()
        machine.compute(WORK)
        self.works.append((machine.rank, begin, machine.now()))
        life = machine.rank, machine.lives
        self.made[life] = self.made.get(life, 0) + 1
        return (*life, self.made[life])

    def outer(self, weights, velocity, changes):
        """The weights are a list of all changes, the velocity counts the steps."""
        for one in changes:
            if one in weights:
                self.unlike = self.unlike or (
                    f"change number {one[2]} of machine {one[0]} is added to weights in which it is already"
                )
        return (*weights, *changes), velocity + 1

    def judge(self):
        assert not self.unlike, f"{self.said}: {self.unlike}{self.tail()}"
        for state in self.results:
            if state is None:
                continue
            assert state.velocity == state.steps, (
                f"{self.said}: after {state.steps} steps the velocity has {state.velocity} of them; a machine that heals "
                f"needs the whole state{self.tail()}"
            )
            known = self.states.setdefault(state.version, state)
            assert known == state, (
                f"{self.said}: two machines end with quorum {state.version}, and with different weights: {known.weights} and "
                f"{state.weights}{self.tail()}"
            )

    def nothing_is_lost(self):
        """Of each life the changes in the weights are the first ones, without a gap."""
        for state in self.states.values():
            for rank, life in self.made:
                found = [number for *who, number in state.weights if tuple(who) == (rank, life)]
                assert found == [*range(1, len(found) + 1)], (
                    f"{self.said}: of machine {rank}'s changes {found} are in the weights at the end, so some before them were "
                    f"lost{self.tail()}"
                )

    def tail(self):
        small = ("sleeps", "receives")
        events = [one for one in self.cluster.events if not one.what.startswith(small)][-8:]
        return "".join(
            f"\n    {one.at / 1e12:7.3f} s  machine {one.rank} {one.what}" for one in events
        )


@functools.cache
def calm(size):
    return Found(size)


def points(size):
    """Every action of every machine in a calm run; of many looks at the lighthouse in a row each tenth."""
    machines = calm(size).cluster.machines
    for machine in machines:
        ticks = 0
        events = [one for one in calm(size).cluster.events if one.rank == machine.rank]
        for action, event in enumerate(events, 1):
            ticks = ticks + 1 if event.what == "sleeps" else 0
            if ticks % 10 < 2:
                yield machine.rank, action


def some(seed, number, rank):
    action = 1 + draw(120, seed, number, "action")
    if draw(3, seed, number, "kind"):
        return Trouble(rank, action, restart=DEATHS[draw(3, seed, number, "restart")])
    return Trouble(rank, action, still=STILL[draw(2, seed, number, "still")])


def seconds_of(found):
    """Until machine 0 is done."""
    return max(one.at for one in found.cluster.events if one.rank == 0) / 1e12
