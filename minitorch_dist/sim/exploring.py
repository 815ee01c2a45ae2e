"""The same program under many seeds: each its own order, delays, hardships and faults.

    bug = sim.explore(train, world_size=8, seeds=1000, faults=sim.chaos(max_faults=3))
    if bug:
        print(bug.minimise().explain())        # the fewest faults, who did what, and a token
    sim.replay("mtd1:seed=412;ranks=8;drop=2>3#17", train)

Seed 0 is a calm run; all others have hardships, which every correct program bears, and what `faults`
says. A program that names the source of each receive cannot depend on the order in which ranks run (it is a
Kahn network). So most failures come from faults, from receives from anybody, from timeouts, and from asking
whether something is over.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeAlias

from minitorch_dist.launching import replacements
from minitorch_dist.sim import replay_token
from minitorch_dist.sim.chaos import Chaos, chaos
from minitorch_dist.sim.failure import EVENTS, Failure, ProgramSetup, RunOutcome
from minitorch_dist.sim.hardship import ALL, STRICT
from minitorch_dist.sim.replay_token import FailureCase
from minitorch_dist.sim.report import Report
from transports.errors import Livelock, NeedsBuffering
from transports.faults import plans
from transports.faults.plans import Fault
from transports.virtual.fault_injector import Plan
from transports.virtual.network import Network
from transports.virtual.topology import Topology

SIZES = (1, 2, 3, 5, 8)
"""Numbers of ranks that programs forget: one, an odd one, a prime that is none of 2 and 3, a power of two."""


Seeds: TypeAlias = "int | Iterable[int]"
PlannedFaults: TypeAlias = "Chaos | Plan | Sequence[Fault | str] | None"


class LeansOnBuffering(UserWarning):
    """The program goes on only because sends are buffered. Ours are; those of NCCL are not, and those of
    MPI up to a limit."""


class NeverTrue(UserWarning):
    """The condition of a `sometimes` was not true in a single run, so it was not tested."""


@dataclass
class Survey:
    """The result of `survey`. `sometimes`: in how many runs each of them was true."""

    runs: int
    failure: Failure | None
    sometimes: Counter[str]
    hits: Counter[str]  # by kind of fault: how many messages were struck
    buffering: Failure | None = None  # where nothing fails: the run in which each send waits for its receive

    def never(self) -> list[str]:
        return [name for name, count in self.sometimes.items() if not count]

    def __str__(self) -> str:
        lines = [f"{self.runs} runs, {'no failure' if self.failure is None else self.failure}"]
        lines += [f"  {name}: true in {n} of {self.runs} runs" for name, n in self.sometimes.items()]
        lines += [f"  {kind}: {n} messages" for kind, n in self.hits.items()]
        if self.buffering is not None:
            lines.append(f"  it leans on sends that are buffered: {self.buffering}")
        return "\n".join(lines)


def explore(
    fn: Callable[..., Any], world_size: int, seeds: Seeds = 100, faults: PlannedFaults = None, **options: Any
) -> Failure | None:
    """Run `fn` under many seeds, each with other orders, delays and faults.

    An exception is a failure unless it is one that you `tolerate`; so is one that `check(report)`
    raises, and a Livelock after so many `events`. Warns (NeverTrue) where what `sometimes` speaks of was never true, and
    (LeansOnBuffering) where the program would hang if each send waited for its receive.

    Some bugs need an odd number of ranks, or more of them: `world_sizes=sim.SIZES` tries those, too.

    Args:
        fn: The function that every rank calls.
        world_size: How many ranks there are.
        seeds: How many seeds, or which.
        faults: A `chaos` (by default `chaos()`), or a list whose chances depend on the seed.
        **options: The other parameters of `survey`.

    Returns:
        The first Failure, or None.

    Example:
        >>> def first_come():
        ...     if dist.get_rank() > 0:
        ...         return dist.send(torch.ones(1) * dist.get_rank(), 0)
        ...     one, other = torch.empty(1), torch.empty(1)
        ...     dist.recv(one), dist.recv(other)
        ...     assert one.item() < other.item()
        >>> failure = sim.explore(first_come, 3, seeds=50)
        >>> failure.replay_token.startswith("mtd1:seed=")
        True
    """
    found = survey(fn, world_size, seeds, faults, **options)
    if found.failure is None and found.never():
        names = ", ".join(map(repr, found.never()))
        warnings.warn(
            f"{names} was never true in {found.runs} runs, so it was not tested: take more seeds, or "
            "faults that lead there",
            NeverTrue,
            stacklevel=2,
        )
    if found.buffering is not None:
        warnings.warn(
            f"this program leans on sends that are buffered, as ours are. Elsewhere it may hang: "
            f"{found.buffering.error}\nagain: {found.buffering.replay_token}",
            LeansOnBuffering,
            stacklevel=2,
        )
    return found.failure


def survey(
    fn: Callable[..., Any],
    world_size: int,
    seeds: Seeds = 100,
    faults: PlannedFaults = None,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    net: Network | Topology | str = "sim://",
    timeout: timedelta | float | None = None,
    hardships: str = ALL,
    events: int | None = EVENTS,
    check: Callable[[Report[Any]], object] | None = None,
    tolerate: type[BaseException] | tuple[type[BaseException], ...] = (),
    world_sizes: Iterable[int] = (),
) -> Survey:
    """As `explore`, with all that was counted.

    Args:
        fn: The function that every rank calls.
        world_size: How many ranks there are.
        seeds: How many seeds, or which.
        faults: A `chaos` (by default `chaos()`), or a list whose chances depend on the seed.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        net: The network (see `run`).
        timeout: The time limit of every operation.
        hardships: The letters of `sim.hardship` that seeds draw from.
        events: After so many events a run is a Livelock.
        check: Called with each report; an error that it raises is a failure.
        tolerate: Types of exceptions that are no failure.
        world_sizes: Other numbers of ranks to try, too.

    Returns:
        A Survey: `failure`, `runs`, and how often `sometimes` was true.

    Example:
        >>> sim.survey(lambda: dist.barrier(), 2, seeds=5).failure is None
        True
    """
    allowed = tolerate if isinstance(tolerate, tuple) else (tolerate,)
    setting = ProgramSetup(fn, args, kwargs or {}, net, timeout, events, check, allowed)
    found = Survey(0, None, Counter(), Counter())
    sizes = list(dict.fromkeys((world_size, *world_sizes)))
    with replacements.kept_out():  # once for all runs
        _survey(found, setting, sizes, seeds, faults, hardships)
    return found


def _survey(
    found: Survey, setting: ProgramSetup, sizes: Sequence[int], seeds: Seeds, faults: PlannedFaults, letters: str
) -> None:
    """Count what the runs do, up to the first that fails."""
    horizons: dict[int, int] = {}
    for seed, world_size in _turns(range(seeds) if isinstance(seeds, int) else seeds, sizes):
        if seed and world_size not in horizons:
            horizons[world_size] = _horizon(setting, world_size)
        case = _case(seed, world_size, faults, letters, horizons.get(world_size, 0))
        outcome = setting.play(case)
        found.runs += 1
        for name, was_true in outcome.sometimes.items():
            found.sometimes[name] += was_true
        for hit in outcome.hits:
            found.hits[hit.fault.kind] += 1
        if outcome.error is not None:
            found.failure = Failure(setting, outcome)
            _warn_if_it_varies(setting, outcome)
            return
    if STRICT not in letters:
        for world_size in sizes:
            found.buffering = found.buffering or strictly(setting, FailureCase(0, world_size))


def _turns(seeds: Iterable[int], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Which seed with how many ranks: 0 with each of them, the others in turn."""
    turn = 0
    for seed in seeds:
        if seed == 0:
            yield from ((0, size) for size in sizes)
        else:
            yield seed, sizes[turn % len(sizes)]
            turn += 1


def strictly(setting: ProgramSetup, case: FailureCase) -> Failure | None:
    """The same run where each send waits for its receive, if that is too strict for the program."""
    outcome = setting.play(replace(case, hardships=case.hardships + STRICT))
    return Failure(setting, outcome) if isinstance(outcome.error, NeedsBuffering) else None


def replay(
    token: str,
    fn: Callable[..., Any],
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    net: Network | Topology | str = "sim://",
    timeout: timedelta | float | None = None,
    check: Callable[[Report[Any]], object] | None = None,
) -> Report[Any]:
    """Make the run of a token again: it raises what was raised then, at the same event. Where the
    program has changed since, and fails elsewhere, a note says so.

    Args:
        token: "mtd1:…", as `Failure.replay_token` has it.
        fn: The function that every rank calls.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        net: The network of then.
        timeout: The time limit of then.
        check: The check of then.

    Returns:
        The Report, if it does not fail any more.

    Example:
        >>> def first_come():
        ...     if dist.get_rank() > 0:
        ...         return dist.send(torch.ones(1) * dist.get_rank(), 0)
        ...     one, other = torch.empty(1), torch.empty(1)
        ...     dist.recv(one), dist.recv(other)
        ...     assert one.item() < other.item()
        >>> failure = sim.explore(first_come, 3, seeds=50)
        >>> try:
        ...     sim.replay(failure.replay_token, first_come)
        ... except AssertionError:
        ...     "it fails again"
        'it fails again'
    """
    case = replay_token.parse(token)
    events = EVENTS if case.limit is None else case.limit
    outcome = ProgramSetup(fn, args, kwargs or {}, net, timeout, events, check).play(case)
    if outcome.error is None:
        assert outcome.report is not None
        return outcome.report
    if case.event is not None and outcome.event != case.event:
        outcome.error.add_note(
            f"The token speaks of event {case.event}, but this was event {outcome.event}: the program, "
            "its arguments or its network are not those of then"
        )
    raise outcome.error


def _case(seed: int, world_size: int, faults: PlannedFaults, hardships: str, horizon: int) -> FailureCase:
    if seed == 0:
        return FailureCase(0, world_size)
    if isinstance(faults, Plan):
        return FailureCase(seed, world_size, faults.faults, hardships, faults.reliable)
    if faults is None or isinstance(faults, Chaos):
        planned = (faults or chaos()).plan(seed, world_size, horizon)
    else:
        planned = tuple(plans.check(faults, world_size))
    return FailureCase(seed, world_size, planned, hardships)


def _horizon(setting: ProgramSetup, world_size: int) -> int:
    """How long a calm run takes. Its errors are ignored: they belong to seed 0, which may not be wanted."""
    calm = setting.play(FailureCase(0, world_size))
    return calm.report.time if calm.report is not None else calm.fall.at if calm.fall else 0


def _warn_if_it_varies(setting: ProgramSetup, outcome: RunOutcome) -> None:
    if isinstance(outcome.error, Livelock):
        return  # it is told by the number of events alone: a second run would take as long and say no more
    again = setting.play(outcome.case)
    if not again.fails_like(outcome) or again.event != outcome.event:
        warnings.warn(
            f"the failing run is not the same when it is repeated ({outcome.error!r} at event "
            f"{outcome.event}, then {again.error!r} at {again.event}). The program depends on "
            "something outside the simulation: sim.check_determinism(fn, …) says where it begins",
            RuntimeWarning,
            stacklevel=3,
        )
