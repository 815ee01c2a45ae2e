"""Lesson 22: what is asked for runs once, or not at all, and the caller hears of it."""

import functools
import itertools
import traceback
from collections import Counter
from dataclasses import replace

import calls

import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed import rpc, world
from mtd.course import MeasuredCost, lamp, real_wires
from mtd.course.envelopes import messages_grid, messages_scene
from mtd.course.single_faults import in_words, single_faults
from mtd.grids.grid import Grid
from mtd.grids.grid_cells import GridFault, GridStep
from transports.errors import DistError
from transports.faults.plans import Partition, Strike

ran = Counter()  # how often each request was carried out; the ranks of a simulation share it
acked = set()  # what rank 0 had an answer to


def add(a, b):
    return a + b


def divide(a, b):
    return a / b


def work(name, *way):
    """Carried out here, once those on the `way` have done theirs."""
    ran[name, len(way)] += 1
    if way:
        calls.rpc_sync(way[0], work, (name, *way[1:]))
    return name


# ------------------------------------------------------------------------------------------- right


def errands(rpc):
    """Any rank asks any, itself too; answers are waited for in another order than they come."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rpc.init_rpc(f"worker{rank}")
    later = [rpc.rpc_async((rank + n) % size, add, (10 * rank, n)) for n in range(size + 2)]
    said = [rpc.rpc_sync((rank + 1) % size, add, (rank,), {"b": 0.5})]
    said += [future.wait() for future in reversed(later)]
    try:
        rpc.rpc_sync((rank + 1) % size, divide, (1, 0))
    except ZeroDivisionError as error:
        said += [error.args, "divide" in "".join(traceback.format_exception(error.__cause__))]
    rpc.shutdown()
    return said


@lamp("correct")
def right():
    """The same program on the library's rpc says the same. 1, 2, 3 and 5 ranks."""
    for size in (1, 2, 3, 5):
        ours = sim.run(errands, size, args=(calls,), limit=1e4).results
        theirs = sim.run(errands, size, args=(rpc,)).results
        for rank, (found, wanted) in enumerate(zip(ours, theirs)):
            assert found == wanted, f"{size} ranks: rank {rank} was told {found}, expected {wanted}"


# ------------------------------------------------------------------------------------------ faults


def round_trip():
    """Rank 0 asks 1, which asks 2, which asks 1 again, while that waits; then for two things at once."""
    calls.init_rpc(f"worker{dist.get_rank()}")
    if dist.get_rank() == 0:
        acked.add(calls.rpc_sync(1, work, ("a", 2, 1)))
        both = [calls.rpc_async(1, work, (name,)) for name in "bc"]
        acked.update(future.wait() for future in both)
        world.place().clock.sleep(5)  # what was late comes now
        acked.add(calls.rpc_sync(1, work, ("d",)))
    calls.shutdown()


def struck(*faults, seed=None):
    """Run it where these faults strike: by lamp, what goes wrong, in words, and the error if there was one."""
    ran.clear()
    acked.clear()
    wrong = {}
    plan = sim.Plan(faults, reliable=False)
    try:
        sim.run(round_trip, 3, faults=plan, seed=seed, limit=1e4, events=100_000)
    except Exception as error:
        said = str(error).splitlines() or [""]
        wrong["answered"] = f"{type(error).__name__}: {said[0]}", error
    for (name, left), times in ran.items():
        if times > 1:
            wrong.setdefault(
                "at most once", (f"{request(name, left)} was carried out {times} times", None)
            )
    if "answered" not in wrong and acked != set("abcd"):
        wrong["answered"] = f"rank 0 was told {sorted(acked)}, expected ['a', 'b', 'c', 'd']", None
    unheard = [name for name in acked if not ran[name, 0]]
    if unheard:
        wrong["answered"] = f"{unheard[0]!r} was answered, and never carried out", None
    return wrong


def request(name, left):
    """In words."""
    asker, asked = {2: (0, 1), 1: (1, 2), 0: (2, 1)}[left] if name == "a" else (0, 1)
    return f"the request {name!r} of rank {asker} to rank {asked}"


@functools.cache
def survey():
    """No fault, all single ones, pairs on the first messages, and storms: by lamp, the first that goes wrong."""
    singles = single_faults(round_trip, 3)
    early = [fault for fault in singles if fault.number < 2]
    pairs = [pair for pair in itertools.combinations(early, 2) if way(pair[0]) != way(pair[1])]
    wrong = {}
    for faults in [(), *((fault,) for fault in singles), *pairs]:
        for name, (what, error) in struck(*faults).items():
            when = " and ".join(map(in_words, faults)) or "nothing goes wrong on the wire"
            wrong.setdefault(
                name, (f"if {when}: {what}\n    faults: {'; '.join(map(str, faults))}", error)
            )
    storm = (sim.drop(0.2), sim.duplicate(0.2), sim.reorder(0.2, "3s"))
    for seed in range(1, 21):
        for name, (what, error) in struck(*storm, seed=seed).items():
            wrong.setdefault(name, (f"in storm {seed}, a fifth lost, doubled, late: {what}", error))
    return wrong


def way(fault):
    return fault.src, fault.dst, fault.number


@lamp("at most once", star=2)
def at_most_once():
    """Each message of a run in turn is lost, doubled, overtaken: no number is carried out twice."""
    demand("at most once")


@lamp("answered", star=2)
def answered():
    """And each call is answered."""
    demand("answered")


def demand(name):
    if name in survey():
        said, error = survey()[name]
        raise AssertionError(said) from error


@lamp("never stuck")
def gives_up():
    """No message comes through: after so many tries there is an error which says that the call may have run. If it ran, then once."""
    for one, other in (({0}, {1}), ({1}, {0})):
        wall = Partition(frozenset(one), frozenset(other), 0, None)
        try:
            found = sim.run(lonely, 2, faults=sim.Plan((wall,), reliable=False), limit=1e4)
        except DistError as error:
            raise AssertionError(
                f"rank 0 calls rank 1, and nothing comes through. wait() gives up after {calls.TRIES} tries, and yours "
                f"goes on: {error}"
            ) from error
        heard, asked = found.results[0], found.ranks[0].messages
        assert "may have run" in heard, (
            "rank 0 calls rank 1, and nothing comes through: expected an RpcTimeout which says that it may have run, "
            + (f"it says {heard!r}" if heard else "none was raised")
        )
        assert asked == calls.TRIES, (
            f"rank 0 calls rank 1, and nothing comes through. {asked} requests were sent, and TRIES is {calls.TRIES}: "
            "the first request is a try, too"
        )
    waits_for_the_last()


def waits_for_the_last():
    """Only the last of all tries comes through, and it is answered."""
    lost = [Strike("drop", src=0, dst=1, number=number) for number in range(calls.TRIES - 1)]
    heard = sim.run(lonely, 2, faults=sim.Plan(lost, reliable=False), limit=1e4).results[0]
    assert not heard, (
        f"rank 0 calls rank 1, and only request {calls.TRIES} of {calls.TRIES} comes through. Nobody waits for the "
        f"answer to that one: {heard!r}"
    )


def lonely():
    calls.init_rpc("alone")
    heard = ""
    if dist.get_rank() == 0:
        try:
            calls.rpc_sync(1, work, ("a",))
        except calls.RpcTimeout as error:
            heard = str(error)
    calls.shutdown()
    return heard


# ----------------------------------------------------------------------------------------- memory


def busy():
    """Ranks 1 and 2 ask rank 0 for 40 things each, one after the other."""
    calls.init_rpc("busy")
    for n in range(40 if dist.get_rank() else 0):
        heard = calls.rpc_sync(0, add, (n, 1))
        assert heard == n + 1, f"rpc_sync(0, add, ({n}, 1)) gives {heard!r}, expected {n + 1}"
    calls.shutdown()
    return len(world.current().extras["calls"].known)


@lamp("memory")
def memory():
    """How many answers rank 0 still remembers after 80 calls: one for each caller."""
    return MeasuredCost(sim.run(busy, 3).results[0], 2.0, unit=" remembered")


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# --------------------------------------------------------------------------------------- questions


def tries_of_a_lost_answer():
    """How many requests go out where the first answer is lost."""
    return lost_answer().ranks[0].messages


def lost_answer(**how):
    def program():
        calls.init_rpc("two")
        if dist.get_rank() == 0:
            calls.rpc_sync(1, work, ("a",))
        calls.shutdown()

    ran.clear()
    faults = sim.Plan((sim.parse("drop=1>0#0"),), reliable=False)
    return sim.run(program, 2, faults=faults, **how)


def runs_of_a_lost_answer():
    lost_answer()
    return ran["a", 0]


def contents():
    """The first answer of two calls is lost: what rank 0 has asked (?) and heard (=), and how often rank 1 ran each (x)."""
    ran.clear()
    heard = {}

    def program():
        calls.init_rpc("two")
        for name in "ab" if dist.get_rank() == 0 else "":
            heard[name] = "?"
            calls.rpc_sync(1, work, (name,))
            heard[name] = "="
        calls.shutdown()

    def cells():
        return [[heard.get(name, "") for name in "ab"], ["x" * ran[name, 0] for name in "ab"]]

    title = "the first answer is lost: asked (?) and heard (=), and each run (x)"
    begin = [GridStep("at first", cells(), [])]
    grid = Grid(title, ["rank 0", "rank 1"], ["a", "b"], begin, [["=", "="], ["x", "x"]])
    grid = messages_grid(
        program, [sim.parse("drop=1>0#0")], in_short, cells, replace(grid, of="call")
    )
    return replace(grid, fault=first_wrong_call(grid))


def in_short(message):
    return f"{message[0]} {message[1]}"


def first_wrong_call(grid):
    """The first cell with a second run; else the first that is not as it has to be in the end."""
    for number, step in enumerate(grid.steps):
        for column, runs in enumerate(step.cells[1]):
            if len(runs) > 1:
                message = step.messages[0].text
                text = f"rank 1 runs {'ab'[column]} again, after {message} from rank 0"
                return GridFault(number, 1, column, text)
    for row, line in enumerate(grid.steps[-1].cells):
        for column, cell in enumerate(line):
            if cell != grid.due[row][column]:
                text = f"rank {row}, {'ab'[column]}: {cell or 'nothing'} instead of {grid.due[row][column]} in the end"
                return GridFault(len(grid.steps) - 1, row, column, text)
    return None


def picture():
    """The first answer is lost: the request comes again. If your file fails because of one fault, that run is shown instead."""
    for fault in single_faults(round_trip, 3):
        if struck(fault):
            return drawn(round_trip, 3, fault, in_words(fault))
    return drawn(two_calls, 2, sim.parse("drop=1>0#0"), "the first answer is lost")


def two_calls():
    calls.init_rpc("two")
    if dist.get_rank() == 0:
        calls.rpc_sync(1, add, (2, 3))
        calls.rpc_sync(1, add, (4, 5))
    calls.shutdown()


def drawn(program, size, fault, title):
    """At most 12 messages of it; each is REQUEST or ANSWER and its number."""
    return messages_scene(
        program,
        size,
        [fault],
        title=title,
        most=12,
        named=in_short,
    )
