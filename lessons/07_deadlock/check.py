"""Lesson 07: right under every kind of send, all at once; and the circle, where there is one."""

import random  # noqa: TID251 - each has a seed of its own
from contextlib import contextmanager, nullcontext
from pathlib import Path

import shift

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.testing.costs import ROUNDS
from minitorch_dist.testing.strictness import plainly, strict
from mtd.course import MeasuredCost, lamp, lesson
from transports.virtual import deadlock

SIZES = (1, 2, 3, 4, 5, 7, 8)
KINDS = {
    "eager": nullcontext,  # sends return at once
    "bounded": lambda: strict(room=1),  # room for one message of each sender
    "rendezvous": strict,  # no room at all
}


def twice(count):
    """Every rank shifts its tensor, and then what came."""
    mine = torch.arange(count, dtype=torch.float64) - 10 * dist.get_rank()
    before = mine.tolist()
    first = shift.shift(mine)
    second = shift.shift(first)
    return before, mine.tolist(), first.tolist(), second.tolist()


def run(kind, size, count):
    """The results by rank; a deadlock is described in the words of sends."""
    with KINDS[kind]():
        try:
            return sim.run(twice, size, (count,)).results
        except sim.Deadlock as stuck:
            said = f"{kind} sends, {size} ranks:\n{plainly(str(stuck))}".replace("\n", "\n    ")
        except Exception as error:
            error.args = (f"{kind} sends, {size} ranks: {error}",)
            raise
    raise AssertionError(said)


NOT_THERE = (
    ". No rank gave this. Is it received when shift returns? An irecv, too, needs its wait()"
)
TENSORS = "its tensor before", "its tensor afterwards", "after one shift", "after two shifts"


@lamp("correct")
def right():
    """Eager sends: 1 to 8 ranks; no element, one, and some; negative ones, too."""
    for size in SIZES:
        for count in (1, 0, 3):
            results = run("eager", size, count)
            for rank, (before, mine, first, second) in enumerate(results):
                where = f"{size} ranks, {count} elements, rank {rank}"
                assert mine == before, f"{where}: shift changed its own tensor: {mine} was {before}"
                for far, found in ((1, first), (2, second)):
                    src = (rank - far) % size
                    is_known = any(found == gave for gave, *_ in results)
                    assert found == results[src][0], (
                        f"{where}: after {'two shifts' if far == 2 else 'one shift'} it has {found}, and should have what "
                        f"rank {src} gave, {results[src][0]}{'' if is_known else NOT_THERE}"
                    )


@lamp("never stuck")
def never_stuck():
    """A program that ends when sends wait also ends with any room, and with the same result."""
    for size in SIZES:
        met, bounded, eager = (run(kind, size, 3) for kind in ("rendezvous", "bounded", "eager"))
        for kind, found in (("rendezvous", met), ("bounded", bounded)):
            for rank, (one, other) in enumerate(zip(found, eager)):
                for what, this, that in zip(TENSORS, one, other):
                    assert this == that, (
                        f"{size} ranks, rank {rank}, {what}: {this} with {kind} sends, and {that} with eager ones. Is "
                        "everything received before shift returns?"
                    )


@lamp("frozen")
def frozen():
    """When shift returns its tensor is the caller's again: nothing is on its way that was not waited for."""
    with strict() as sends:
        try:
            sim.run(twice, 3, (3,))
        except sim.Deadlock:
            raise AssertionError("where sends wait it never ends: see 'never stuck'") from None
    for words in sends.forgotten()[:1]:
        raise AssertionError(
            f"3 ranks: {words}. When shift returns, the caller may write to its tensor, which may still be read."
        )


@lamp("rounds")
def rounds():
    """Where sends wait: one message, one word back that it is being received. For any number of ranks."""
    found = {size: taken("rendezvous", size) for size in (2, 5, 8)}
    assert "stuck" not in found.values(), "where sends wait it never ends: see 'never stuck'"
    assert min(found.values()) >= 2, (
        "shift returns before its message is received: first repair what 'correct' and 'frozen' say"
    )
    worst = max(found, key=found.__getitem__)
    return MeasuredCost(found[worst], 2, unit=" rounds", where=f"{worst} ranks, where sends wait")


@lamp("circle", star=1)
def circle():
    """Random graphs of waiting ranks; then the report of a real deadlock."""
    for seed in range(300):
        draw = random.Random(seed)
        ranks = range(1 + seed // 50)
        waits = {
            rank: draw.sample([*ranks, 99], draw.choice((0, 1, 1, 2)) if rank else 1)
            for rank in ranks
            if draw.random() < 0.9
        }
        waits = {
            rank: [other for other in others if other != rank] for rank, others in waits.items()
        }
        found = circle_of(waits)
        back = [rank for rank in waits if reaches(waits, rank, rank)]
        assert found or not back, (
            f"find_circle({waits}) is {found}, but there is one: go from rank {back[0]} to a rank that it waits for, "
            "and so on, and you can come back to it. A rank may wait for several: try each of them"
        )
        assert back or not found, f"find_circle({waits}) is {found}, but there is none"
        assert len(set(found)) == len(found), (
            f"find_circle({waits}) is {found}: a rank comes twice. Each rank of the circle comes once"
        )
        for rank, other in zip(found, [*found[1:], *found[:1]]):
            assert other in waits.get(rank, []), (
                f"find_circle({waits}) is {found}, but rank {rank} does not wait for rank {other}"
            )
    many_ranks()
    with finding(shift.find_circle):
        said = stuck(in_the_end_a_pair, 4)
    assert "1 → 3 → 1" in said or "3 → 1 → 3" in said, (
        f"ranks 1 and 3 wait for each other, and this is what the library says with your find_circle:\n{said}"
    )


def many_ranks():
    """A search that follows each path, or that calls itself for each rank, is of no use with as many ranks as a job has."""
    ladder = {rank: [rank + 1, rank + 2] for rank in range(40)}
    assert circle_of(ladder) == [], "each of 40 ranks waits for the next two. There is no circle"
    chain = {rank: [rank + 1] for rank in range(5000)}
    for waits, expected in ((chain, []), ({**chain, 5000: [0]}, [*range(5001)])):
        found = circle_of(waits)
        first = found.index(0) if 0 in found else 0  # it may begin with any of its ranks
        assert [*found[first:], *found[:first]] == expected, (
            f"5,000 ranks each wait for the next{', and the last for the first' if expected else ''}: find_circle "
            f"returns {len(found)} ranks, and the circle has {len(expected)}"
        )


class LookedUp(dict):
    """A graph that counts how often somebody asks for whom a rank waits."""

    def __init__(self, waits):
        super().__init__(waits)
        self.most = 4 + 4 * sum(1 + len(others) for others in waits.values())
        self.count = 0

    def looked_up(self):
        self.count += 1
        assert self.count <= self.most, (
            f"find_circle looked up for whom a rank waits {self.count} times, in a graph of {len(self)} ranks: it comes to "
            "the same rank by every path. A rank from which no circle was found belongs in `dead_ends`"
        )

    def __getitem__(self, rank):
        self.looked_up()
        return super().__getitem__(rank)

    def get(self, rank, default=None):
        self.looked_up()
        return super().get(rank, default)


def circle_of(graph):
    """The learner's answer; AssertionError where there is none, or no end is in sight."""
    waits = graph if len(graph) < 99 else f"{{0: {graph[0]}, …}}, {len(graph)} ranks"  # in words
    try:
        found = shift.find_circle(LookedUp(graph))
    except KeyError as error:
        raise AssertionError(
            f"find_circle({waits}) raises KeyError: {error}. Rank {error} is waited for, and waits for no rank itself, so it "
            "has no entry"
        ) from error
    except RecursionError as error:
        why = (
            "Python ends a function that has called itself a thousand times. Keep the path in a list"
            if len(graph) > 99
            else "from a rank outside a circle the search goes round and round in it"
        )
        raise AssertionError(f"find_circle({waits}) ends in RecursionError: {why}") from error
    assert isinstance(found, list), f"find_circle({waits}) is {found!r}, expected a list"
    return found


def reaches(waits, rank, goal):
    """Whether one comes from rank to goal: the plain way, with all who can be reached so far."""
    reached = set(waits.get(rank, []))
    for _ in waits:
        reached |= {other for one in reached for other in waits.get(one, [])}
    return goal in reached


def in_the_end_a_pair():
    """0 waits for 1, 2 for 0; 1 and 3 for each other."""
    rank = dist.get_rank()
    dist.send(torch.ones(1), {0: 1, 1: 3, 2: 0, 3: 1}[rank])


@contextmanager
def finding(function):
    """Within the block the library finds circles with this."""
    ours, deadlock.find_circle = deadlock.find_circle, function
    try:
        yield
    finally:
        deadlock.find_circle = ours


def stuck(program, size, *args):
    """The report of a deadlock of strict sends; "" if there is none."""
    with strict():
        try:
            sim.run(program, size, args)
        except sim.Deadlock as error:
            return plainly(str(error))
    return ""


# ----------------------------------------------------------------------------- questions, and a picture


def as_given():
    """`shift` as the lesson gave it to you."""
    here = lesson.read(Path(__file__).parent)
    names = {"__name__": "given"}
    exec(compile(here.source.skeleton(here.number), here.file, "exec"), names)
    return names["shift"]


def ranks_in_the_circle():
    given = as_given()
    return stuck(lambda: given(torch.ones(3)), 5).count("waits for rank")


def rounds_one_after_another():
    """If only rank 0 receives first: it frees its left neighbour, which frees the next."""

    def program():
        rank, size = dist.get_rank(), dist.get_world_size()
        left, right = (rank - 1) % size, (rank + 1) % size
        received = torch.empty(1)
        if rank == 0:
            dist.recv(received, left)
        dist.send(torch.ones(1), right)
        if rank:
            dist.recv(received, left)

    with strict():
        return sim.run(program, 8, net=ROUNDS).time


def picture():
    """The circle of what was given, with its lines; and how yours fares."""
    given, size = as_given(), 4
    said = stuck(lambda: given(torch.ones(3)), size)
    lines = [f"As it was given, {size} ranks, sends that wait for their receives:", ""]
    for line in said.splitlines():
        if line.strip().startswith("rank "):
            who, _, what = line.strip().partition(" waits for ")
            whom, _, where = what.partition(" in ")
            lines.append(
                f"  {who}  stands in {where.split(' of group')[0]:<22} and waits for {whom}"
            )
    ring = " ──► ".join(map(str, range(size)))
    lines += [
        "",
        f"  ╭─► {ring} ─╮",
        f"  ╰{'─' * (len(ring) + 5)}╯",
        "",
        "Yours, rounds until all have theirs:",
        "",
    ]
    lines.append(f"  {'ranks':<12}{''.join(f'{size:>6}' for size in SIZES)}")
    for kind in KINDS:
        cells = [taken(kind, size) for size in SIZES]
        lines.append(f"  {kind:<12}{''.join(f'{found:>6}' for found in cells)}")
    return "\n".join(lines)


def taken(kind, size):
    """Rounds until all have theirs."""
    with KINDS[kind]():
        try:
            return sim.run(shift.shift, size, (torch.ones(3),), net=ROUNDS).time
        except sim.Deadlock:
            return "stuck"
