"""`check_collective`: a collective of one's own against what it promises, and against what it must cost.

    def all_reduce(tensor, op): ...           with dist.send, recv, isend, irecv; in place
    print(check_collective(all_reduce))
    ✔ correct ✔ exactly once ✔ never stuck ✔ frozen  bytes 1.00× optimum  rounds 2.33× optimum  memory 1.1×

    right          against numpy: sum, max, min and product, in several orders of arrival; 1 … 9 ranks, 0, 1, P-1, P, P+1 … elements, negatives
    exactly once   every rank's contribution is a digit of its own, and every element has another label:
                   sums tell which ranks are in them, and whether they lie in the right place
    never stuck    sends that wait: never, for room, for their receive (see `strictness`)
    frozen         nothing is written to while it is being sent
    bytes, rounds  against `schedules.bounds`; dear is what is far from both
    memory         of the ledger: what is held beyond the caller's tensors, in vectors

A Schedule is checked by `schedules.proof`, for every size, and costed by `schedules.cost`.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from minitorch_dist import sim
from minitorch_dist.distributed.schedules import proof
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.testing.costs import ROUNDS, measure, metered, of_schedule
from minitorch_dist.testing.strictness import OverwrittenBuffer, plainly, strict
from minitorch_dist.testing.trials import OPS, length_of, program, unlike, wanted_of
from minitorch_dist.testing.verdict import ReplayCase, Verdict

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9)
EVENTS = 20_000  # of one run, before it counts as one that never ends
TIMES = 64  # so often, less one, may a rank be in a sum of labels before its digit runs over
BITS = 53  # of one sum: a function that adds in float64, as math.fsum does, keeps them all
MODES = {"eager": "sim://", "shuffled": "sim://", "bounded": "sim://?window=1", "rendezvous": "sim://"}
SHUFFLES = 3  # orders of arrival that are drawn besides the calm one
_replayed: ContextVar[tuple[ReplayCase, Path | None] | None] = ContextVar("replayed", default=None)
LAMPS = ("correct", "exactly once", "never stuck", "frozen")
FUNCTIONS = ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all")


def check_collective(
    subject: Schedule | Callable[..., Any],
    collective: str = "all_reduce",
    sizes: Sequence[int] = SIZES,
    *,
    bytes_limit: float = 1.2,
    rounds_limit: float = 1.5,
    memory_limit: float = 2.0,
) -> Verdict:
    """Check a collective, or a schedule: correct, exactly once, never stuck, frozen; bytes, rounds and memory. It never raises
    because the subject is wrong (see `Verdict.demand`).

    A function has torch's arguments without group: `all_reduce(tensor, op)`, `broadcast(tensor, src)`,
    `reduce(tensor, dst, op)`, `all_gather`, `reduce_scatter`, `all_to_all(output, input)`. One without
    `op` is asked for sums only. It may return its result instead of writing it.

    Args:
        subject: The function or the schedule.
        collective: The name of the collective that it should be.
        sizes: The numbers of ranks to try.
        bytes_limit: It is expensive if it sends more than so many times the least bytes, and exceeds `rounds_limit`, too.
        rounds_limit: How many times the fewest rounds it may take.
        memory_limit: How many times the least memory it may hold.

    Returns:
        A Verdict, which is true if nothing was wrong.

    Example:
        >>> def wrong(tensor):
        ...     dist.broadcast(tensor, 0)
        >>> bool(testing.check_collective(wrong, sizes=(1, 2)))
        False
    """
    if isinstance(subject, Schedule):
        return of_schedule(subject, sizes, bytes_limit, rounds_limit)
    if collective not in FUNCTIONS:
        raise ValueError(f"no function of {collective!r} can be checked; {', '.join(FUNCTIONS)} can")
    verdict = Verdict(getattr(subject, "__name__", repr(subject)), dict.fromkeys(LAMPS, True))
    replayed = _replayed.get()
    if replayed is not None:
        if replayed[0].collective == collective:
            _try(verdict, subject, replayed[0])
        return verdict
    for case in _cases(subject, collective, sizes):
        _try(verdict, subject, case)
        if verdict.tokens.get("never stuck", "").endswith(";eager"):
            verdict.leave_open(*LAMPS)
            break  # it hangs though no send waits: the other cases would only take long to say so
    if verdict:  # what it costs to be wrong is of no interest, and may never end
        limits = bytes_limit, rounds_limit, memory_limit
        measure(verdict, subject, collective, metered(sizes), *limits)
    return verdict


def replay_collective(token: str, subject: Callable[..., Any]) -> None:
    """Make the run of a token again, and raise what was wrong with it."""
    case = parse(token)
    verdict = Verdict(case.collective)
    _try(verdict, subject, case)
    verdict.demand()


def parse(token: str) -> ReplayCase:
    """The run that a token of `check_collective` means."""
    version, _, rest = token.partition(":")
    words = rest.split(";")
    if version != "mtc1" or len(words) != 5:
        raise ValueError(f"{token!r} is no token of check_collective: it begins with mtc1:")
    numbers = dict(word.split("=") for word in words[1:4])
    return ReplayCase(words[0], int(numbers["ranks"]), int(numbers["count"]), numbers["op"], words[4])


@contextmanager
def replaying(token: str, journal: Path | None = None) -> Iterator[None]:
    """Within the block `check_collective` makes only the run of this token, and writes it down."""
    before = _replayed.set((parse(token), journal))
    try:
        yield
    finally:
        _replayed.reset(before)


# ------------------------------------------------------------------------------------ one run


def _cases(subject: Callable[..., Any], collective: str, sizes: Sequence[int]) -> list[ReplayCase]:
    """The smallest first."""
    ops = ["sum"]
    if "op" in inspect.signature(subject).parameters:
        ops = [*OPS]
    found = []
    for size in sizes:
        drawn = int(np.random.Generator(np.random.PCG64(size)).integers(2 * size, 4 * size))
        for count in sorted({0, 1, size - 1, size, size + 1, drawn}):
            found += [ReplayCase(collective, size, count, op) for op in ops]
        for mode in ("shuffled", "bounded", "rendezvous"):
            found += [ReplayCase(collective, size, count, "sum", mode) for count in (1, size + 1)]
    return found


def _try(verdict: Verdict, subject: Callable[..., Any], case: ReplayCase) -> None:
    """One run of small numbers, and, if its lamp is still on, one of labels."""
    concerned = {"eager": ["correct", "exactly once"], "shuffled": ["correct"]}.get(case.mode, ["never stuck"])
    if all(verdict.lamps.get(lamp) is False for lamp in concerned):
        return
    random = np.random.Generator(np.random.PCG64(case.count))
    low = 1 if case.op == "product" else -9  # a product of zeros would hide what is missing
    given = random.integers(low, 4, (case.size, length_of(case))).astype(np.float64)
    below, above = 9 * (case.op == "max"), 9 * (case.op == "min")  # all of one sign: a zero is then noticed
    given = -given if case.op == "product" else given - below + above
    for seed in range(1, SHUFFLES + 1) if case.mode == "shuffled" else (None,):
        order = {} if seed is None else {"seed": seed, "hardships": "oja"}
        found = _run(verdict, subject, case, given, **order)
        if found is None:
            verdict.leave_open(*concerned, *(["frozen"] if case.mode == "rendezvous" else []))
            return
        _compare(verdict, case, found, wanted_of(case, given))
    if case.op == "sum" and case.mode == "eager" and verdict.lamps.get("exactly once") is not False:
        _label(verdict, subject, case)


def _compare(verdict: Verdict, case: ReplayCase, found: list[Any], wanted: list[Array | None]) -> None:
    for rank, due in enumerate(wanted):
        words = "" if due is None else unlike(found[rank], due, rank)
        if words:
            order = ", messages in another order" if case.mode == "shuffled" else ""
            verdict.complain("correct", f"{case.where}, {case.op}{order}: {words}", case)
            return


def _run(verdict: Verdict, subject: Callable[..., Any], case: ReplayCase, given: Array, **how: Any) -> list[Any] | None:
    """The ranks' results; None, and a complaint, where there are none."""

    replayed = _replayed.get()
    if replayed is not None and replayed[1] is not None:
        how["journal"] = replayed[1]

    def play() -> list[Any]:
        net = how.pop("net", MODES[case.mode])
        return sim.run(program, case.size, (subject, case, given), net=net, events=EVENTS, **how).results

    where = case.where
    try:
        if case.mode != "rendezvous":
            return play()
        with strict() as sends:
            found = play()
        for words in sends.forgotten()[:1]:
            verdict.complain("frozen", f"{where}: {words}; the caller may write to its tensor meanwhile", case)
        return found
    except OverwrittenBuffer as error:
        verdict.complain("frozen", f"{where}: {error}", case)
    except (sim.Deadlock, sim.Livelock) as error:
        ways = {"eager": "", "bounded": " where sends wait for room"}
        why = ways.get(case.mode, " where sends wait for their receives")
        verdict.complain("never stuck", f"{where}, stands still{why}: {plainly(str(error))}", case)
    except Exception as error:
        place = _place(error, subject)
        verdict.complain("correct", f"{where}: {type(error).__name__}: {error}{place}", case)
    return None


def _place(error: BaseException, subject: Callable[..., Any]) -> str:
    """Where in the file of `subject` it was raised; nothing if its words say so themselves."""
    file = getattr(getattr(subject, "__code__", None), "co_filename", None)
    found = ""
    chain: BaseException | None = error
    while chain is not None:
        for frame in traceback.extract_tb(chain.__traceback__):
            if frame.filename == file:
                found = f"{Path(frame.filename).name}:{frame.lineno}"
        chain = chain.__cause__ or chain.__context__
    return f", at {found}" if found and found not in str(error) else ""


# -------------------------------------------------------------------------------- exactly once


def _label(verdict: Verdict, subject: Callable[..., Any], case: ReplayCase) -> None:
    """Of n elements, rank r gives (n + e)·baseʳ in element e. A digit of a sum between n and 2n - 1 is one label, and
    names its element. Where the digits of all ranks do not fit, some ranks give labels in each run, and the others 0."""
    if case.collective not in proof.REDUCING:
        return
    length = length_of(case)
    base = 1 << (TIMES * max(2 * length - 1, 1) - 1).bit_length()
    at_once = BITS // (base.bit_length() - 1)
    wrong: tuple[int, int] | None = None
    runs: list[list[Any]] = []
    for first in range(0, case.size, at_once):
        labels = np.zeros(case.size, np.int64)
        count = min(at_once, case.size - first)
        labels[first : first + count] = base ** np.arange(count)
        given = labels[:, None] * (length + np.arange(length))
        found = _run(verdict, subject, case, given)
        if found is None:
            verdict.leave_open("exactly once")
            return
        runs.append(found)
        for rank, wanted in enumerate(wanted_of(case, given)):
            at = np.flatnonzero([] if wanted is None else found[rank] != wanted)
            if len(at) and wrong is None:
                wrong = rank, int(at[0])
    if wrong is not None:
        rank, element = wrong
        sums = [int(found[rank][element]) for found in runs]
        digits = [sums[r // at_once] // base ** (r % at_once) % base for r in range(case.size)]
        due = length + element + (rank * case.count if case.collective == "reduce_scatter" else 0)
        words = _in_words(subject, case, rank, element, [digits, due, length])
        verdict.complain("exactly once", f"{case.where}: {words}", case)


def _in_words(subject: Callable[..., Any], case: ReplayCase, rank: int, element: int, read: Sequence[Any]) -> str:
    digits, due, length = read  # the label that each rank should have in it, of one of so many elements
    said = []
    for other, digit in enumerate(digits):
        times, rest = divmod(digit, due)
        if rest and length <= digit < 2 * length:
            said.append(f"rank {other}'s element {digit - length} in its place")
        elif rest:
            said.append(f"several elements of rank {other} in its place")
        elif times > 1:
            rounds = _rounds_in_which(subject, case, rank, other, element)
            came = f", in rounds {_listed(rounds)}" if len(rounds) > 1 else ""
            often = "twice" if times == 2 else f"{times} times"
            said.append(f"rank {other} counted {often}{came}")
    missing = [r for r, digit in enumerate(digits) if not digit]
    if missing:
        said.append(f"rank{'s' * (len(missing) > 1)} {_listed(missing)} missing")
    return f"rank {rank}, element {element}: {'; '.join(said)}"


def _rounds_in_which(subject: Callable[..., Any], case: ReplayCase, to: int, source: int, element: int) -> list[int]:
    """When what `source` gives to this element came to `to`: a run in which it is all that is not 0."""
    place = element + to * case.count if case.collective == "reduce_scatter" else element
    given = np.zeros((case.size, length_of(case)), np.int64)
    given[source, place] = 1
    seen: list[int] = []

    def watch(stage: Any) -> None:
        def witness(kind: str, *what: Any) -> None:
            if kind == "send" and what[1] == to and any(what[4]):
                seen.append(stage.clock.now() + 1)

        stage.medium.witness = witness

    _run(Verdict(""), subject, case, given, net=ROUNDS, prepared=watch)
    return seen


def _listed(numbers: Sequence[int]) -> str:
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
