"""Lesson 06: the times of the textbooks' formulas, and of the library's own simulator, with ==."""

import random  # noqa: TID251 - each has a seed of its own
from fractions import Fraction

import ports
from ports import Compute, Ports, Receive, Run, Send

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from mtd.course import lamp

ALPHA, BETA, GAMMA = 5_000_000, 80, 1_000  # 5 µs a message, 100 Gb/s, 1 ns an operation
SIZES = (1, 2, 3, 5, 8)


# ------------------------------------------------------------------------------------------ programs


def chain(size, nbytes):
    """Rank 0 tells 1, then 1 tells 2, …"""
    return [
        [Receive(rank - 1)] * (rank > 0) + [Send(rank + 1, nbytes)] * (rank + 1 < size)
        for rank in range(size)
    ]


def fan_in(size, nbytes):
    """All others tell rank 0 at once."""
    return [[Receive(src) for src in range(1, size)], *[[Send(0, nbytes)]] * (size - 1)]


def fan_out(size, nbytes):
    """Rank 0 tells all others, one after another."""
    return [[Send(dst, nbytes) for dst in range(1, size)], *[[Receive(0)]] * (size - 1)]


def ping_pong(rounds, nbytes):
    return [[Send(1, nbytes), Receive(1)] * rounds, [Receive(0), Send(0, nbytes)] * rounds]


def exchange(nbytes):
    """Two ranks tell each other something at the same time."""
    return [[Send(1, nbytes), Receive(1)], [Send(0, nbytes), Receive(0)]]


def early(nbytes, operations):
    """The message is there long before rank 1 asks for it."""
    return [[Send(1, nbytes)], [Compute(operations), Receive(0)]]


def drawn(seed):
    """Any program: messages between random pairs in one order that all ranks keep, so it ends. The
    first ones are small."""
    draw = random.Random(seed)
    size = draw.choice((2, 3, 5, 8))
    programs = [[] for _ in range(size)]
    for _ in range(1 + seed // 3):
        src, dst = draw.sample(range(size), 2)
        programs[src] += [Compute(draw.randrange(9000))] * draw.randrange(2)
        programs[src].append(Send(dst, draw.choice((0, 1, 7, 1000, 60_000))))
        programs[dst].append(Receive(src))
    return programs


def run(programs, alpha=ALPHA, beta=BETA, gamma=GAMMA):
    return Run(programs, Ports(alpha, beta, gamma)).times


def shown(programs):
    """A program in words, for the reader who looks for the mistake."""
    return "\n".join(
        f"    rank {rank}: " + (", ".join(map(told, actions)) or "nothing")
        for rank, actions in enumerate(programs)
    )


def told(action):
    return f"{type(action).__name__}({', '.join(map(str, action))})"


# --------------------------------------------------------------------------------------------- lamps


HOLD = ALPHA + BETA * 1000  # a message of 1000 bytes


@lamp("leaves")
def leaves():
    """Messages that come to sending ports: a port that is free, one that is busy, another rank's, and one that is free again."""
    answers(Ports.leaves, [0, HOLD, 0, 2 * HOLD, 9 * HOLD, 10 * HOLD], "begins to leave")


@lamp("lands")
def lands():
    """The same at receiving ports, where the answer is when the message is there."""
    answers(Ports.lands, [HOLD, 2 * HOLD, HOLD, 3 * HOLD, 10 * HOLD, 11 * HOLD], "has landed")


def answers(method, expected, what):
    """Ranks 0, 0, 1, 0, 0 and 0, to whose ports a message comes; at the instants 0, 0, 0, 1, 9 HOLD and 9 HOLD."""
    kept, before = Ports(ALPHA, BETA), []
    for rank, now, wanted in zip(
        (0, 0, 1, 0, 0, 0), (0, 0, 0, 1, 9 * HOLD, 9 * HOLD), expected, strict=True
    ):
        found = method(kept, rank, 1000, now)
        assert found == wanted, (
            f"a message takes {picoseconds(HOLD)}. Messages came to the port of {', '.join(before) or 'nobody'}. Now one comes to "
            f"that of rank {rank} at {now:,} ps. It {what} at {found:,} ps, expected {picoseconds(wanted)}"
        )
        before.append(f"rank {rank} at {now:,} ps")


@lamp("received")
def received():
    """A rank asks before its message has landed, after, and at the same instant."""
    for now, landed in ((0, 7), (9, 7), (7, 7)):
        found = Ports(ALPHA, BETA).received(now, landed)
        assert found == max(now, landed), (
            f"received: a rank asks at {now} ps for a message that lands at {landed} ps. It goes on at {found} ps, expected "
            f"{max(now, landed)}"
        )


@lamp("correct")
def right():
    """Programs whose times can be found with pencil and paper."""
    nbytes = 1000
    hold = ALPHA + BETA * nbytes
    demand("one message", chain(2, nbytes), [0, hold])
    demand(
        "a message that waits for its receiver, which computes",
        early(nbytes, 9000),
        [0, max(9000 * GAMMA, hold)],
    )
    demand("a receiver that waits for its message", early(nbytes, 3), [0, hold])
    demand("two messages there and back", ping_pong(1, nbytes), [2 * hold, hold])
    demand("ping-pong, 3 rounds", ping_pong(3, nbytes), [6 * hold, 5 * hold])
    for size in SIZES:
        passed = [rank * hold for rank in range(size)]
        demand(f"a chain of {size} ranks", chain(size, nbytes), passed)
        demand(
            f"rank 0 sends to {size - 1} others: one sending port",
            fan_out(size, nbytes),
            [0, *passed[1:]],
        )
        demand(
            f"{size - 1} ranks send to rank 0: one receiving port",
            fan_in(size, nbytes),
            [(size - 1) * hold] + [0] * (size - 1),
        )
    late, busy = Compute(9000), 9000 * GAMMA
    demand(
        "rank 0 computes, then sends twice: its port is free again when the first has left",
        [[late, Send(1, nbytes), Send(2, nbytes)], [Receive(0)], [Receive(0)]],
        [busy, busy + hold, busy + 2 * hold],
    )
    demand(
        "two ranks compute, then send to rank 0: its port is free again when the first has landed",
        [[Receive(1), Receive(2)], [late, Send(0, nbytes)], [late, Send(0, nbytes)]],
        [busy + 2 * hold, busy, busy],
    )
    demand("two ranks send to each other: two ports, both at once", exchange(nbytes), [hold] * 2)


def demand(what, programs, expected):
    found = run(programs)
    if found != expected:
        rank = next(r for r, (f, e) in enumerate(zip(found, expected, strict=True)) if f != e)
        raise AssertionError(
            f"{what}; a message takes {picoseconds(ALPHA + BETA * 1000)}{operations(programs)}: rank {rank} is done at "
            f"{picoseconds(found[rank])}, expected {picoseconds(expected[rank])}\n{shown(programs)}"
        )


def operations(programs):
    """How long one takes, where somebody computes."""
    computes = any(isinstance(action, Compute) for actions in programs for action in actions)
    return f", an operation {picoseconds(GAMMA)}" if computes else ""


def picoseconds(time):
    return "no time: it waits for ever" if time is None else f"{time:,} ps"


@lamp("monotone", star=2)
def monotone():
    """Where each rank hears only one other, nothing gets faster with more α, β or bytes."""
    for seed in range(60):
        draw = random.Random(seed)
        size = draw.randrange(2, 9)
        heard = [None, *(draw.randrange(rank) for rank in range(1, size))]
        lengths = [[draw.randrange(5000) for _ in range(draw.randrange(3))] for _ in heard]
        plain = run(tree(heard, lengths))
        longer = [[n + 1000 for n in row] for row in lengths]
        for what, slower in (
            ("α is doubled", run(tree(heard, lengths), alpha=2 * ALPHA)),
            ("β is doubled", run(tree(heard, lengths), beta=2 * BETA)),
            ("each message is longer by 1000 bytes", run(tree(heard, longer))),
        ):
            rank = next((r for r in range(size) if slower[r] < plain[r]), None)
            assert rank is None, (
                f"{what}, and rank {rank} is done at {slower[rank]} ps instead of {plain[rank]} ps: "
                f"sooner\n{shown(tree(heard, lengths))}"
            )


def tree(heard, lengths):
    """Rank r receives `lengths[r]` from `heard[r]`, then computes, then sends to those that hear it."""
    programs = [[] for _ in heard]
    for rank, src in enumerate(heard):
        if src is not None:
            programs[rank] = [Receive(src)] * len(lengths[rank])
        programs[rank] = [*programs[rank], Compute(100 * rank)]
    for rank, src in enumerate(heard):
        if src is not None:
            programs[src] += [Send(rank, nbytes) for nbytes in lengths[rank]]
    return programs


@lamp("silent", star=2)
def silent():
    """A rank that says nothing changes nothing for the others."""
    for seed in range(40):
        programs = drawn(seed)
        alone, beside = run(programs), run([*programs, [Compute(7)], []])
        assert beside[: len(alone)] == alone and beside[len(alone) :] == [7 * GAMMA, 0], (
            f"two ranks came that neither send nor receive, and the others are done at {beside} ps "
            f"instead of {alone} ps\n{shown(programs)}"
        )


@lamp("as the library", star=3)
def as_the_library():
    """The same program with `dist.send`, `dist.recv` and `sim.compute`, in `sim.run`: equal picoseconds."""
    for seed in range(60):
        draw = random.Random(~seed)
        alpha, beta = draw.choice((5_000_000, 40_000, 1)), draw.choice((80, 8000, 1))
        programs = drawn(seed)
        found, expected = run(programs, alpha, beta), in_the_library(programs, alpha, beta)
        if found != expected:
            rank = next(r for r, (f, e) in enumerate(zip(found, expected, strict=True)) if f != e)
            raise AssertionError(
                f"α = {alpha:,} ps, β = {beta} ps{operations(programs)}: rank {rank} is done at {picoseconds(found[rank])}, "
                f"and in sim.run at {picoseconds(expected[rank])}\n{shown(programs)}"
            )


def in_the_library(programs, alpha, beta):
    lengths = {}
    for src, actions in enumerate(programs):
        for action in actions:
            if isinstance(action, Send):
                lengths.setdefault((src, action.dst), []).append(action.nbytes)
    coming = {pair: iter(row) for pair, row in lengths.items()}

    def act():
        rank = dist.get_rank()
        for action in programs[rank]:
            match action:
                case Send(dst, nbytes):
                    dist.send(torch.empty(nbytes, dtype=torch.uint8), dst)
                case Receive(src):
                    dist.recv(torch.empty(next(coming[src, rank]), dtype=torch.uint8), src)
                case Compute(operations):
                    sim.compute(f"{GAMMA * operations}ps")

    report = sim.run(act, len(programs), net=sim.Hockney(alpha, Fraction(beta)))
    return [rank.time for rank in report.ranks]


# ----------------------------------------------------------------------------- questions, and a picture


def seven_to_one():
    """Microseconds."""
    return run(fan_in(8, 100_000))[0] / 10**6


def both_at_once():
    return run(exchange(100_000))[0] / 10**6


def picture():
    """One run on two axes."""
    programs = [
        [Receive(1), Receive(2)],
        [Compute(9000), Send(0, 100_000)],
        [Send(3, 25_000), Send(0, 100_000)],
        [Receive(2), Compute(6000)],
    ]
    kept = Kept(ALPHA, BETA, GAMMA)
    story = Run(programs, kept).story
    lines = ["in order: →3 a message to rank 3 comes to its port; ←2 one from rank 2 arrives", ""]
    for rank in range(len(programs)):
        signs = (
            f"→{dst}" if (kind, src) == (ports.COMES, rank)
            else f"←{src}" if (kind, dst) == (ports.ARRIVES, rank) else "··"
            for _, kind, src, dst in story
        )  # fmt: skip
        lines.append(f"rank {rank}      {'  '.join(signs)}")
    lines += ["", "the same in virtual time: ▶ and ◀ are 1 µs in which the port is busy", ""]
    for rank in range(len(programs)):
        for name, spans, sign in (("sends", kept.out, "▶"), ("receives", kept.into, "◀")):
            row = ["·"] * 48
            for begin, end in spans.get(rank, []):
                row[begin // 10**6 : -(-end // 10**6)] = sign * (-(-end // 10**6) - begin // 10**6)
            lines.append(f"rank {rank} {name:<9}{''.join(row[:48])}")
    ruler = "".join(f"{at:<10}" for at in range(0, 50, 10))
    return "\n".join([*lines, f"{'':16}{ruler}µs"])


class Kept(Ports):
    """The same rule, which notes when ports are busy."""

    def __init__(self, *how):
        super().__init__(*how)
        self.out, self.into = {}, {}

    def leaves(self, src, nbytes, now):
        begins = super().leaves(src, nbytes, now)
        self.out.setdefault(src, []).append((begins, begins + self.hold(nbytes)))
        return begins

    def lands(self, dst, nbytes, now):
        over = super().lands(dst, nbytes, now)
        self.into.setdefault(dst, []).append((over - self.hold(nbytes), over))
        return over
