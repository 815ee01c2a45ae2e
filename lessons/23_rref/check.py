"""Lesson 23: never freed while somebody can reach it, always freed in the end."""

import contextlib
import functools
import gc
import logging

import owners

import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed import rpc, world
from minitorch_dist.distributed.rpc.rref_context import UserRRef
from mtd.course import MeasuredCost, lamp
from mtd.course.single_faults import in_words, single_faults
from mtd.grids.grid import Grid
from mtd.grids.grid_cells import GridFault, GridMessage, GridStep

# For each rank: it passes the first, second … reference that it gets on to these ranks, then drops it.
TOURS = {
    "0 → 1, 0 drops": {0: [[1]]},
    "0 → 1 → 2": {0: [[1]], 1: [[2]]},
    "0 → 1 → 2 → 1": {0: [[1]], 1: [[2]], 2: [[1]]},
    "0 → 1 → 2 → 0": {0: [[1]], 1: [[2]], 2: [[0]]},
    "0 → 1 → 2, twice": {0: [[1]], 1: [[2, 2]]},
    "0 → 1 and 2, 1 → 2": {0: [[1, 2]], 1: [[2]]},
}


class Truth:
    """Facts that no single rank can know; the ranks of a simulation share this object."""

    def __init__(self):
        self.reaching = 0  # references that are held somewhere, or on their way


class Watched(owners.Book):
    """A book that is compared with the truth."""

    def __init__(self, truth, plan, patience=0):
        super().__init__(self.act)
        self.truth, self.plan, self.patience, self.count = truth, plan, patience, 0

    def begin(self):
        self.truth.reaching += 1
        self.act(self.own("a tensor"))

    def act(self, reference):
        here = self.plan.get(self.rank, [])
        targets = here[self.count] if self.count < len(here) else []
        self.count += 1
        for to in targets:
            self.truth.reaching += 1
            self.pass_on(reference, to)
        if self.patience:
            world.place().clock.sleep(self.patience)
        self.truth.reaching -= 1
        self.drop(reference)

    def free(self, id):
        left = self.truth.reaching
        assert not left, (
            f"rank 0 frees its object while {left} reference{'s' * (left > 1)} can reach it"
        )
        super().free(id)


def travel(plan, patience=0):
    """One object of rank 0 on its tour; each holder drops it after `patience`. Returns all that is left."""
    truth = Truth()

    def program():
        book = Watched(truth, plan, patience)
        if book.rank == 0:
            truth.reaching = 0
            book.begin()
        book.serve()
        return book.leaks() + [
            f"rank {book.rank} still has fork {fork.number}" for fork in book.forks.values()
        ]

    return program


def tidy(report):
    """Nothing is left anywhere."""
    left = [line for lines in report.results for line in lines]
    assert not left, f"never given back: {'; '.join(left)}"


# ------------------------------------------------------------------------------------------ lamps


@lamp("correct")
def right():
    """Tours over 1, 2, 3 and 5 ranks, on which each rank waits before it drops its reference."""
    for size in (1, 2, 3, 5):
        plan = {rank: [[rank + 1]] for rank in range(size - 1)}
        tidy(sim.run(travel(plan, patience=1), size, limit=1e4))


@functools.cache
def survey():
    """Every order in which messages can be taken, on each tour, and each message late in turn."""
    wrong = {}
    for name, plan in TOURS.items():
        program = travel(plan)
        found = sim.exhaust(program, 3, check=tidy, most=400)
        if found.failure is not None:
            first = ", then ".join(found.failure.outcome.schedule)
            note(wrong, found.failure.error, f"{name}, if {first}" if first else name)
            continue
        for fault in single_faults(program, 3, ["reorder"]):
            try:
                tidy(sim.run(program, 3, faults=sim.Plan((fault,), reliable=False), limit=1e4))
            except Exception as error:
                note(wrong, error, f"{name}, if {in_words(fault)}")
    return wrong


def first_line(error):
    return str(error).splitlines()[0] if isinstance(error, AssertionError) else repr(error)


def note(wrong, error, when):
    said = first_line(error)
    lamp = "always freed" if said.startswith("never") else "never too early"
    wrong.setdefault(lamp, (f"{when}: {said}", error))


@lamp("never too early", star=2)
def never_too_early():
    """No order of messages frees the object while somebody can reach it. All orders, 3 ranks."""
    demand("never too early")


@lamp("always freed", star=2)
def always_freed():
    """And in the end nothing is left, on any rank."""
    demand("always freed")


def demand(name):
    if name in survey():
        said, error = survey()[name]
        raise AssertionError(said) from error


@lamp("leaks", star=2)
def leaks():
    """A rank that keeps a reference to the end is named."""

    def program():
        book = owners.Book()
        if book.rank == 0:
            id = book.own("a tensor")
            book.pass_on(id, 1)
            book.pass_on(id, 2)
            book.drop(id)
        elif book.rank == 2:
            book.welcome = book.drop
        book.serve()
        return book.leaks()

    said = sim.run(program, 3, limit=1e4).results[0]
    assert len(said) == 1 and "held by rank 1" in said[0], (
        "rank 0 gives ranks 1 and 2 a reference to its object, and only rank 1 never drops it. So leaks() on rank 0 should give "
        f"one line, which names rank 1. It gives {said}"
    )


@lamp("library", star=2)
def library():
    """The library's references live by your rule, with a slow link, and with a slow owner."""
    log = logging.getLogger("minitorch_dist.distributed.rpc")
    theirs, UserRRef.is_over, log.disabled = UserRRef.is_over, owners.is_over, True
    try:
        ways = {"src=2,dst=0": "from w2 to w0", "src=1,dst=0": "from w1 to w0", "src=0": "from w0"}
        for way, words in ways.items():
            try:
                left = sim.run(lend, 3, faults=[f"delay=5s,{way}"], limit=1e4).results[1]
            except Exception:
                left = "w2 cannot use it any more, and the library waits for ever"
            told = "w1 makes an object on w0, shares it with w2, lets go"
            assert not left, f"{told}; messages {words} are late: {left}"
    finally:
        UserRRef.is_over, log.disabled = theirs, False


class Thing:
    alive = 0

    def __init__(self):
        Thing.alive += 1

    def __del__(self):
        Thing.alive -= 1

    def touch(self):
        return "touched"


kept = []


def keep(rref):
    kept.append(rref)


def use():
    return kept.pop().rpc_sync(timeout=30).touch()


def alive():
    gc.collect(0)
    return Thing.alive


def lend():
    """Worker 1 makes an object on 0, passes it on to 2 and lets go; 2 uses it and lets go. Returns the mistake."""
    rank, said = dist.get_rank(), ""
    if rank == 0:
        Thing.alive = 0
        kept.clear()
    rpc.init_rpc(f"w{rank}")
    if rank == 1:
        rpc.rpc_sync("w2", keep, (rpc.remote("w0", Thing),))
        try:
            rpc.rpc_sync("w2", use)
        except Exception:
            said = "w2 cannot use it any more"
        world.place().clock.sleep(100)
        if not said and rpc.rpc_sync("w0", alive):
            said = "w0 never frees it"
    rpc.shutdown()
    return said


@lamp("messages", star=3)
def messages():
    """One message to pass on an owner's reference, four to pass on another's, one to give a fork back."""
    found = sim.run(travel(TOURS["0 → 1 → 2"]), 3, limit=1e4).messages
    return MeasuredCost(found, 1 + 4 + 2, unit=" messages")


# --------------------------------------------------------------------------------------- questions


def messages_of_a_tour():
    return sim.run(travel(TOURS["0 → 1 → 2"]), 3, limit=1e4).messages


def orders_of_a_tour():
    return sim.exhaust(travel(TOURS["0 → 1 → 2"]), 3).runs


def contents():
    """0 → 1 → 2: which forks the owner knows, and which there are, after each message."""
    books, steps, fault = {}, [], []

    def cells():
        owned = next(iter(books[0].owned.values()), None) if 0 in books else None
        known = set(owned.forks.values()) if owned else set()
        there = {rank: bool(book.forks) for rank, book in books.items()}
        rows = [["a" if owned else "", *("bc"[rank - 1] * (rank in known) for rank in (1, 2))]]
        return rows + [
            ["", *("bc"[at - 1] * (at == rank and there.get(rank, False)) for at in (1, 2))]
            for rank in (1, 2)
        ]

    class Drawn(Watched):
        def take(self, src, kind, *said):
            message = GridMessage(src, self.rank, kind)
            try:
                super().take(src, kind, *said)
            except Exception as error:
                where = f"{first_line(error)}, after {kind} from rank {src}"
                fault.append(GridFault(len(steps), 0, 0, where))
                raise
            finally:
                steps.append(GridStep(f"{kind} {src}→{self.rank}", cells(), [message]))

    truth = Truth()

    def program():
        book = books[dist.get_rank()] = Drawn(truth, TOURS["0 → 1 → 2"])
        if book.rank == 0:
            book.begin()
            steps.insert(0, GridStep("at first", cells(), []))
        book.serve()

    with contextlib.suppress(Exception):  # the check says what is wrong
        sim.run(program, 3, limit=1e4)
    rows = ["rank 0", "rank 1", "rank 2"]
    left = [] if fault or not any(map(any, steps[-1].cells)) else ["Something is left in the end."]
    title = "0 → 1 → 2: the object (a), and the forks on ranks 1 (b) and 2 (c)"
    columns = ["object", "b", "c"]
    return Grid(title, rows, columns, steps, [[""] * 3] * 3, fault[0] if fault else None, "", left)
