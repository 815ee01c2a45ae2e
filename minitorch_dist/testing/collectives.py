"""`check_collective`: a collective of one's own against what it promises, and against what it must cost.

    def all_reduce(tensor, op): ...           with dist.send, recv, isend, irecv; in place
    print(check_collective(all_reduce))
    ✔ right ✔ exactly once ✔ never stuck ✔ frozen  bytes 1.00× optimum  rounds 2.33× optimum  memory 1.1×

    right          against numpy: sum, max and product, 1 … 9 ranks, 0, 1, P-1, P, P+1 … elements, negatives
    exactly once   every rank's contribution is a digit of its own, so that sums tell who is in them
    never stuck    sends that wait: never, for room, for their receive (see `strictness`)
    frozen         nothing is written to while it is being sent
    bytes, rounds  against `schedules.bounds`; dear is what is far from both
    memory         of the ledger: what is held beyond the caller's tensors, in vectors

A Schedule is checked by `schedules.proof`, for every size, and costed by `schedules.cost`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist import cuda, sim
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.schedules import bounds, proof
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.schedule import ROOTED, Schedule
from minitorch_dist.tensors import base, ledger
from minitorch_dist.tensors.base import Array
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.testing.strictness import Overwritten, plainly, strict
from transports.medium import Network
from transports.topology import Link, Uniform

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9)
METERED = (5, 8)  # numbers of ranks at which costs are measured
EVENTS = 100_000  # of one run, before it counts as one that never ends
BASE = 64  # of the labels: up to 63 times are told apart, for 9 ranks
ROUNDS = Network(Uniform(Link(1, Fraction(0), 0)))  # time is then the number of rounds
OPS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "sum": (ReduceOp.SUM, np.add.reduce),
    "max": (ReduceOp.MAX, np.maximum.reduce),
    "product": (ReduceOp.PRODUCT, np.multiply.reduce),
}
MODES = {"eager": "sim://", "bounded": "sim://?window=1", "rendezvous": "sim://"}
FUNCTIONS = ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all")


@dataclass(frozen=True)
class Case:
    """One run; its text is the replay token."""

    collective: str
    size: int
    count: int  # elements of each rank's (of reduce_scatter, all_to_all: for each rank)
    op: str = "sum"
    mode: str = "eager"

    @property
    def where(self) -> str:
        ranks = "1 rank" if self.size == 1 else f"{self.size} ranks"
        return f"{ranks}, {self.count} element{'' if self.count == 1 else 's'}"

    def __str__(self) -> str:
        return (
            f"mtc1:{self.collective};ranks={self.size};count={self.count};op={self.op};{self.mode}"
        )


@dataclass
class Verdict:
    """What was found. True if nothing was wrong; `print` shows the lamps."""

    name: str
    lamps: dict[str, bool] = field(default_factory=dict)
    bytes: float | None = None  # times the least that is possible; None: not measured
    rounds: float | None = None
    memory: float | None = None  # vectors beyond the caller's
    complaints: dict[str, str] = field(default_factory=dict)  # by lamp
    tokens: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return all(self.lamps.values())

    def demand(self) -> Verdict:
        """Itself if all is well, else an AssertionError with these words."""
        if not self:
            raise AssertionError(str(self))
        return self

    def complain(self, lamp: str, words: str, case: Case | None = None) -> None:
        """Keep the first complaint of each lamp: cases come smallest first."""
        if self.lamps.get(lamp, True):
            self.lamps[lamp], self.complaints[lamp] = False, words
            if case is not None:
                self.tokens[lamp] = str(case)

    def __str__(self) -> str:
        words = " ".join(f"{'✔' if ok else '✘'} {lamp}" for lamp, ok in self.lamps.items())
        words += "" if self.bytes is None else f"  bytes {self.bytes:.2f}× optimum"
        words += "" if self.rounds is None else f"  rounds {self.rounds:.2f}× optimum"
        words += "" if self.memory is None else f"  memory {self.memory:.1f}×"
        lines = [words]
        for lamp, said in self.complaints.items():
            lines.append(f"  {lamp}: {said}")
            lines += [f"    replay: {self.tokens[lamp]}"] if lamp in self.tokens else []
        return "\n".join(lines)


def check_collective(
    subject: Schedule | Callable[..., Any],
    collective: str = "all_reduce",
    sizes: Sequence[int] = SIZES,
    *,
    bytes_limit: float = 1.2,
    rounds_limit: float = 1.5,
    memory_limit: float = 2.0,
) -> Verdict:
    """Everything this page says about `subject`; never raises because it is wrong (see `Verdict.demand`).

    A function has torch's arguments without group: `all_reduce(tensor, op)`, `broadcast(tensor, src)`,
    `reduce(tensor, dst, op)`, `all_gather`, `reduce_scatter`, `all_to_all(output, input)`. One without
    `op` is asked for sums only. It may return its result instead of writing it. It is dear if it sends
    more than `bytes_limit` times the least *and* takes more than `rounds_limit` times the fewest rounds.
    """
    if isinstance(subject, Schedule):
        return _of_schedule(subject, sizes, bytes_limit, rounds_limit)
    if collective not in FUNCTIONS:
        raise ValueError(
            f"no function of {collective!r} can be checked; {', '.join(FUNCTIONS)} can"
        )
    lamps = dict.fromkeys(["right", "exactly once", "never stuck", "frozen"], True)
    verdict = Verdict(getattr(subject, "__name__", repr(subject)), lamps)
    for case in _cases(subject, collective, sizes):
        _try(verdict, subject, case)
    if verdict:  # what it costs to be wrong is of no interest, and may never end
        _measure(verdict, subject, collective, bytes_limit, rounds_limit, memory_limit)
    return verdict


def replay_collective(token: str, subject: Callable[..., Any]) -> None:
    """Make the run of a token again, and raise what was wrong with it."""
    version, _, rest = token.partition(":")
    words = rest.split(";")
    if version != "mtc1" or len(words) != 5:
        raise ValueError(f"{token!r} is no token of check_collective: it begins with mtc1:")
    numbers = dict(word.split("=") for word in words[1:4])
    case = Case(words[0], int(numbers["ranks"]), int(numbers["count"]), numbers["op"], words[4])
    verdict = Verdict(case.collective)
    _try(verdict, subject, case)
    verdict.demand()


# ------------------------------------------------------------------------------------ one run


def _cases(subject: Callable[..., Any], collective: str, sizes: Sequence[int]) -> list[Case]:
    """The smallest first."""
    ops = ["sum"]
    if "op" in inspect.signature(subject).parameters:
        ops = [*OPS]
    found = []
    for size in sizes:
        drawn = int(np.random.Generator(np.random.PCG64(size)).integers(2 * size, 4 * size))
        for count in sorted({0, 1, size - 1, size, size + 1, drawn}):
            found += [Case(collective, size, count, op) for op in ops]
        for mode in ("bounded", "rendezvous"):
            found += [Case(collective, size, count, "sum", mode) for count in (1, size + 1)]
    return found


def _try(verdict: Verdict, subject: Callable[..., Any], case: Case) -> None:
    """One run of small numbers, and, if its lamp still burns, one of labels."""
    concerned = ["right", "exactly once"] if case.mode == "eager" else ["never stuck"]
    if not any(verdict.lamps.get(lamp, True) for lamp in concerned):
        return
    random = np.random.Generator(np.random.PCG64(case.count))
    low = 1 if case.op == "product" else -9  # a product of zeros would hide what is missing
    given = random.integers(low, 4, (case.size, _length(case))).astype(np.float64)
    given = -given if case.op == "product" else given - (9 if case.op == "max" else 0)
    found = _run(verdict, subject, case, given)
    if found is None:
        return
    wanted = _wanted(case, given)
    for rank in range(case.size):
        if wanted[rank] is None:
            continue
        words = _unlike(found[rank], wanted[rank], rank)
        if words:
            verdict.complain("right", f"{case.where}, {case.op}: {words}", case)
            break
    if case.op == "sum" and case.mode == "eager" and verdict.lamps.get("exactly once", True):
        _label(verdict, subject, case)


def _run(
    verdict: Verdict, subject: Callable[..., Any], case: Case, given: Array, **how: Any
) -> list[Any] | None:
    """The ranks' results; None, and a complaint, where there are none."""

    def play() -> list[Any]:
        net = how.pop("net", MODES[case.mode])
        return sim.run(
            _program, case.size, (subject, case, given), net=net, events=EVENTS, **how
        ).results

    where = case.where
    try:
        if case.mode != "rendezvous":
            return play()
        with strict():
            return play()
    except Overwritten as error:
        verdict.complain("frozen", f"{where}: {error}", case)
    except (sim.Deadlock, sim.Livelock) as error:
        sends = {"eager": "", "bounded": " where sends wait for room"}
        why = sends.get(case.mode, " where sends wait for their receives")
        verdict.complain("never stuck", f"{where}, stands still{why}: {plainly(str(error))}", case)
    except Exception as error:
        verdict.complain("right", f"{where}: {type(error).__name__}: {error}", case)
    return None


def _program(subject: Callable[..., Any], case: Case, given: Array, device: str = "") -> Any:
    """What every rank runs."""
    rank = dist.get_rank()
    tensor = _tensor(given[rank].copy(), device, rank)
    arguments: dict[str, Any] = {}
    parameters = inspect.signature(subject).parameters
    if "op" in parameters:
        arguments["op"] = OPS[case.op][0]
    for name in ("src", "dst", "root"):
        if name in parameters and case.collective in ROOTED:
            arguments[name] = _root(case)
    if case.collective in ("all_reduce", "broadcast", "reduce"):
        result = subject(tensor, **arguments)
        return (tensor if result is None else result).array.copy()
    length = {"all_gather": case.size, "reduce_scatter": 1, "all_to_all": case.size}[
        case.collective
    ]
    output = _tensor(np.zeros(length * case.count, given.dtype), device, rank)
    result = subject(output, tensor, **arguments)
    return (output if result is None else result).array.copy()


def _tensor(array: Array, device: str, rank: int) -> Any:
    made = base.new(Tensor, array)
    return made.to(f"{device}:{rank}") if device else made


def _root(case: Case) -> int:
    return case.size - 1


def _length(case: Case) -> int:
    """Elements of what a rank gives."""
    parts = case.size if case.collective in ("reduce_scatter", "all_to_all") else 1
    return parts * case.count


def _wanted(case: Case, given: Array) -> list[Array | None]:
    """What numpy makes of it. None: nobody may ask."""
    size, count, root = case.size, case.count, _root(case)
    total = OPS[case.op][1](given, axis=0)
    if case.collective == "broadcast":
        return [given[root]] * size
    if case.collective == "reduce":
        return [total if rank == root else None for rank in range(size)]
    if case.collective == "all_gather":
        return [given.reshape(-1)] * size
    parts = [slice(rank * count, (rank + 1) * count) for rank in range(size)]
    if case.collective == "reduce_scatter":
        return [total[part] for part in parts]
    if case.collective == "all_to_all":
        return [given[:, part].reshape(-1) for part in parts]
    return [total] * size


def _unlike(found: Array, wanted: Any, rank: int) -> str:
    if found.shape != wanted.shape:
        return f"rank {rank} has {list(found.shape)} elements, expected {list(wanted.shape)}"
    at = np.flatnonzero(found != wanted)
    if not len(at):
        return ""
    return f"rank {rank}, element {at[0]}: {found[at[0]]:g}, expected {wanted[at[0]]:g}"


# -------------------------------------------------------------------------------- exactly once


def _label(verdict: Verdict, subject: Callable[..., Any], case: Case) -> None:
    """Rank r gives BASEʳ in every element: the digits of a sum are how often each rank is in it."""
    if case.collective not in proof.REDUCING:
        return
    labels = np.array([BASE**rank for rank in range(case.size)], np.int64)
    given = np.repeat(labels[:, None], _length(case), axis=1)
    found = _run(verdict, subject, case, given)
    if found is None:
        return
    for rank, wanted in enumerate(_wanted(case, given)):
        at = np.flatnonzero([] if wanted is None else found[rank] != wanted)
        if len(at):
            element = int(at[0])
            digits = [int(found[rank][element]) // BASE**r % BASE for r in range(case.size)]
            words = _in_words(subject, case, rank, element, digits)
            verdict.complain("exactly once", f"{case.where}: {words}", case)
            return


def _in_words(
    subject: Callable[..., Any], case: Case, rank: int, element: int, digits: Sequence[int]
) -> str:
    said = []
    for other, times in enumerate(digits):
        if times > 1:
            rounds = _rounds_in_which(subject, case, rank, other, element)
            came = f", in rounds {_listed(rounds)}" if len(rounds) > 1 else ""
            often = "twice" if times == 2 else f"{times} times"
            said.append(f"rank {other} counted {often}{came}")
    missing = [r for r, times in enumerate(digits) if not times]
    if missing:
        said.append(f"rank{'s' * (len(missing) > 1)} {_listed(missing)} missing")
    return f"rank {rank}, element {element}: {'; '.join(said)}"


def _rounds_in_which(
    subject: Callable[..., Any], case: Case, to: int, source: int, element: int
) -> list[int]:
    """When what `source` gives to this element came to `to`: a run in which it is all that is not 0."""
    place = element + to * case.count if case.collective == "reduce_scatter" else element
    given = np.zeros((case.size, _length(case)), np.int64)
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


# --------------------------------------------------------------------------------------- costs


def _measure(
    verdict: Verdict, subject: Callable[..., Any], collective: str,
    bytes_limit: float, rounds_limit: float, memory_limit: float,
) -> None:  # fmt: skip
    verdict.lamps |= {"cheap": True, "small": True}
    dear, slow, large = [0.0], [0.0], [0.0]
    for size in METERED:
        case = Case(collective, size, 16 * size)
        given = np.ones((size, _length(case)))
        report = sim.run(_program, size, (subject, case, given), net=ROUNDS)
        whole = given[0].nbytes * (size if collective == "all_gather" else 1)
        sent = max(rank.bytes_sent for rank in report.ranks)
        least = bounds.least_bytes(collective, size, whole)
        here = float(sent / least), report.time / bounds.least_rounds(size)
        dear.append(here[0])
        slow.append(here[1])
        if here[0] > bytes_limit and here[1] > rounds_limit:
            verdict.complain(
                "cheap",
                f"{size} ranks: a rank sends {sent} bytes where {float(least):g} would do, and it takes "
                f"{report.time} rounds where {bounds.least_rounds(size)} would do",
            )
        with cuda.simulated(size) as pool:
            held = sim.run(_watched, size, (subject, case, given, pool)).results
        large += [extra / whole for extra in held]
    verdict.bytes, verdict.rounds, verdict.memory = max(dear), max(slow), max(large)
    if verdict.memory > memory_limit:
        verdict.complain("small", f"it holds {verdict.memory:.1f} vectors beyond the caller's")


def _watched(subject: Callable[..., Any], case: Case, given: Array, pool: Any) -> int:
    """Bytes at the peak beyond what the caller holds."""
    with cuda.simulated(pool), ledger.watch(f"cuda:{dist.get_rank()}") as seen:
        result = _program(subject, case, given, "cuda")
    outputs = 0 if case.collective in ("all_reduce", "broadcast", "reduce") else result.nbytes
    return int(seen.peak) - int(given[0].nbytes) - int(outputs)


def _of_schedule(
    schedule: Schedule, sizes: Sequence[int], bytes_limit: float, rounds_limit: float
) -> Verdict:
    """By proof, for every size: what holds of labels holds of all values, types and operations."""
    verdict = Verdict(str(schedule), {"exactly once": True, "never stuck": True, "cheap": True})
    for size in sizes:
        for root in sorted({0, size - 1}) if schedule.collective in ROOTED else (None,):
            for count in sorted({0, 1, size - 1, size, size + 1, 2 * size + 1}):
                for words in proof.examine(schedule, size, count, root=root):
                    lamp = "never stuck" if "stands still" in words else "exactly once"
                    verdict.complain(lamp, f"{size} ranks, {count} elements: {words}")
    if not verdict:
        return verdict
    dear, slow = [0.0], [0.0]
    for size in METERED:
        bill = cost(schedule, size, 16 * size)
        least = bounds.least_bytes(schedule.collective, size, 16 * size)
        sent = float(bill.max_sent / least) if least else 1.0
        rounds = bill.rounds / bounds.least_rounds(size)
        dear.append(sent)
        slow.append(rounds)
        if sent > bytes_limit and rounds > rounds_limit:
            verdict.complain(
                "cheap",
                f"{size} ranks: a rank sends {bill.max_sent} bytes where {float(least):g} would do, and "
                f"it takes {bill.rounds} rounds where {bounds.least_rounds(size)} would do",
            )
    verdict.bytes, verdict.rounds = max(dear), max(slow)
    return verdict
