"""Lesson 10: nobody leaves before all have come, round after round, whatever the store's answers take."""

import random  # noqa: TID251 - in a simulated run it follows the run's seed
import re
from collections import Counter
from functools import partial

from meeting import Meeting, Mismatch

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed import distributed_c10d
from mtd.course import MeasuredCost, lamp
from mtd.course.far_store import FarStore
from transports.stores.store import PrefixStore

SIZES = (1, 2, 3, 5, 8)
SEEDS = 25
ROUNDS = 4
EVENTS = 8_000
COMMANDS = 24  # for each barrier of 8 ranks; ours needs 20
STUCK = (sim.Deadlock, sim.Livelock)


def far_store():
    return FarStore(PrefixStore("lesson", distributed_c10d._get_default_store()))


def explore(program, size, check=None, tolerate=()):
    """Under many schedules; AssertionError with what the first failure says."""
    found = sim.explore(
        program, size, SEEDS, [], hardships="o", events=EVENTS, check=check, tolerate=tolerate
    )
    if found is not None:
        error, ranks = found.error, "1 rank" if size == 1 else f"{size} ranks"
        is_plain = type(error) in (AssertionError, sim.Deadlock)
        kind = "" if is_plain else f"{type(error).__name__}: "
        raise AssertionError(f"{ranks}, seed {found.seed}: {kind}{error}") from error


def met():
    return Meeting(far_store(), dist.get_rank(), dist.get_world_size())


def rounds(meeting, count=ROUNDS):
    """When this rank came to each barrier, and when it left."""
    times = []
    for _ in range(count):
        sim.compute(f"{random.randrange(20)}us")
        came = sim.now()
        meeting.barrier()
        times.append((came, sim.now()))
    return times


def keeps_together(report):
    for number in range(ROUNDS):
        came, left = zip(*(times[number] for times in report.results))
        late, soon = came.index(max(came)), left.index(min(left))
        assert max(came) <= min(left), (
            f"round {number}: rank {soon} left at {min(left) * 1e6:.0f} µs, and rank {late} came only at "
            f"{max(came) * 1e6:.0f} µs"
        )


# --------------------------------------------------------------------------------------------- lamps


@lamp("correct")
def right():
    """Nobody leaves a round before all have come to it, several rounds in a row."""
    for size in SIZES:
        explore(lambda: rounds(met()), size, keeps_together, STUCK)


@lamp("never stuck")
def never_stuck():
    """And everybody does leave."""
    for size in SIZES:
        explore(lambda: rounds(met()), size)


@lamp("ranks", star=1)
def ranks():
    """0 to P-1, each once, though all come at the same time."""
    for size in SIZES:
        explore(partial(number, size), size, is_every_number)


def number(size):
    sim.compute(f"{random.randrange(5)}us")
    return Meeting.join(far_store(), size).rank


def is_every_number(report):
    found = sorted(report.results)
    assert found == list(range(len(found))), (
        f"the ranks are {found}, expected {list(range(len(found)))}"
    )


@lamp("groups", star=2)
def groups():
    """Two groups, each with rounds of its own, and all together in between."""
    explore(two_groups, 5)


def two_groups():
    meeting = met()
    few, many = meeting.new_group([3, 0]), meeting.new_group([4, 1, 2])
    own = few or many
    assert (few is None) != (many is None), f"rank {meeting.rank} is in both groups, or in none"
    rounds(own, 3 if few else 5)
    meeting.barrier()
    rounds(own, 5 if few else 3)
    meeting.barrier()


@lamp("mismatch", star=2)
def mismatch():
    """A rank that does another thing than the others is named on all ranks, with both lines; no other rank is."""
    explore(all_the_same, 5)
    for size in (2, 3, 5):
        for odd in (0, size - 1):
            for its, theirs in (
                ("broadcast", "all_gather"),
                ("reduce", "reduce_scatter"),
                ("reduce_scatter", "reduce"),
            ):
                elsewhere(odd, size, its, theirs)


def elsewhere(odd, size, its, theirs):
    try:
        explore(
            partial(one_is_elsewhere, odd, its, theirs), size, partial(is_told, odd, its, theirs)
        )
    except AssertionError as error:
        if not isinstance(error.__cause__, STUCK):
            raise
        raise AssertionError(
            f"rank {odd} comes for {its}, the others for {theirs}. Does a rank raise before it has come to the "
            f"barrier? Then the others wait for ever: {error}"
        ) from error


def all_the_same():
    """From different lines, which is no mismatch."""
    meeting = met()
    for number in range(ROUNDS):
        sim.compute(f"{random.randrange(20)}us")
        try:
            if meeting.rank % 2:
                meeting.together(f"all_reduce {number}")
            else:
                meeting.together(f"all_reduce {number}")
        except Mismatch as error:
            raise AssertionError(
                f"all came to round {number} for the same, 'all_reduce {number}', though from different lines; and "
                f"rank {meeting.rank} got Mismatch: {error}. Compare the operations alone, as texts (the store gives bytes)"
            ) from error


def one_is_elsewhere(odd, its, theirs):
    meeting = met()
    meeting.together("all_reduce")
    try:
        if meeting.rank == odd:
            meeting.together(its)
        else:
            meeting.together(theirs)
    except Mismatch as error:
        return str(error)
    return ""


def is_told(odd, its, theirs, report):
    for rank, said in enumerate(report.results):
        assert said, (
            f"rank {odd} came for {its}, the others for {theirs}, and rank {rank} got no Mismatch"
        )
        lines = set(re.findall(r"check\.py:\d+", said))
        assert (
            f"rank {odd} is in {its} at" in said
            and f"is in {theirs} at" in said
            and len(lines) == 2
        ), (
            f"rank {odd} came for {its}, the others for {theirs}; rank {rank} is told {said!r}, and should "
            "be told of both, with their lines"
        )


@lamp("memory", star=3)
def memory():
    """After many rounds the store holds no more than after one."""
    return MeasuredCost(keys_after(40), 2, limit=2, unit=" keys after 40 rounds", least_of="ours")


@lamp("commands", star=3)
def commands():
    """8 ranks: `add` and `wait` of each, and for all together one `set` and three keys deleted."""
    each = commands_of(8, 10).total() / 10
    assert each <= COMMANDS, (
        f"8 ranks: the store gets {each:g} commands in each round, and {COMMANDS} are allowed: does a rank ask again and again?"
    )


@lamp("in the library", star=3)
def in_the_library():
    """Processes that know nothing but a store get ranks, make the library's world with them, and train apart."""
    for size in (1, 2, 5):
        found = sim.run(a_world, size, events=EVENTS).results
        expected = [(rank, float(sum(range(size)))) for rank in range(size)]
        assert sorted(found) == expected, (
            f"{size} ranks: rank and sum are {sorted(found)}, expected {expected}"
        )


def a_world():
    """Forget our rank; find it out again."""
    store, size = far_store(), dist.get_world_size()
    meeting = Meeting.join(store, size)
    meeting.barrier()
    dist.destroy_process_group()
    dist.init_process_group(
        "sim", store=PrefixStore("a world", store), rank=meeting.rank, world_size=size
    )
    tensor = torch.ones(2) * meeting.rank
    dist.all_reduce(tensor)
    meeting.together("all_reduce")
    return dist.get_rank(), float(tensor[0])


# ----------------------------------------------------------------------------- questions, and a picture


def keys_after(count):
    """Without those by which the ranks have found each other."""
    return keys(count) - keys(0)


def keys(count):
    def program():
        meeting = met()
        rounds(meeting, count)
        sim.compute("9ms")  # the last to come may still be tidying up
        return meeting.store.store.num_keys()

    return max(sim.run(program, 3, seed=1, events=EVENTS).results)


def commands_of(size, count):
    """By kind, of all ranks."""

    def program():
        meeting = met()
        rounds(meeting, count)
        return meeting.store.commands

    return sum(sim.run(program, size, seed=1, events=EVENTS).results, Counter())


def keys_left():
    return keys_after(40)


def commands_of_four():
    return sum(number for kind, number in commands_of(4, 1).items() if kind != "delete_key")


def picture():
    """Four ranks, three rounds: a line of time for each, and the barriers across."""
    report = sim.run(lambda: rounds(met(), 3), 4, seed=5)
    width = 64
    scale = width / max(times[-1][1] for times in report.results)
    opened = [
        max(came for came, _ in (times[number] for times in report.results)) for number in range(3)
    ]
    lines = ["━ on its way   ░ waits in the barrier   ┃ the last one has come", ""]
    for rank, times in enumerate(report.results):
        row = ["━"] * (width + 1)
        for came, left in times:
            for at in range(round(came * scale), round(left * scale) + 1):
                row[at] = "░"
        for instant in opened:
            row[round(instant * scale)] = "┃"
        lines.append(f"rank {rank}  {''.join(row)}")
    marks = [" "] * (width + 8)
    for number, instant in enumerate(opened):
        marks[8 + round(instant * scale)] = str(number)
    lines.append("round".ljust(8) + "".join(marks[8:]).rstrip())
    return "\n".join(lines)
