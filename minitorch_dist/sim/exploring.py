"""The same program under many seeds: each its own order, delays, hardships and faults.

    bug = sim.explore(train, world_size=8, seeds=1000, faults=sim.chaos(max_faults=3))
    if bug:
        print(bug.minimise().explain())        # the fewest faults, who did what, and a token
    sim.replay("mtd1:seed=412;ranks=8;drop=2>3#17", train)

Seed 0 is a calm run; all others have hardships, which every correct program bears, and what `faults`
says. A program that only names the sources of its receives cannot depend on the order in which ranks
run (it is a Kahn network), so most of what is found comes from faults, from receives from anybody,
from timeouts, and from asking whether something is over.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from minitorch_dist.launching import outside
from minitorch_dist.sim import cases
from minitorch_dist.sim.cases import Case
from minitorch_dist.sim.chaos import Chaos, chaos
from minitorch_dist.sim.failure import EVENTS, Failure, Outcome, Setting
from minitorch_dist.sim.hardship import ALL
from minitorch_dist.sim.report import Report
from transports.faults import plans
from transports.faults.plans import Fault
from transports.virtual.fates import Plan
from transports.virtual.medium import Network
from transports.virtual.topology import Topology

F = TypeVar("F", bound=Callable[..., Any])
SEED = "MTD_SEED"


class NeverTrue(UserWarning):
    """What `sometimes` speaks of was not true in a single run, so it was not tested."""


@dataclass
class Survey:
    """What `survey` has seen. `sometimes`: in how many runs each of them was true."""

    runs: int
    failure: Failure | None
    sometimes: Counter[str]
    hits: Counter[str]  # by kind of fault: how many messages were struck

    def never(self) -> list[str]:
        return [name for name, count in self.sometimes.items() if not count]

    def __str__(self) -> str:
        lines = [f"{self.runs} runs, {'no failure' if self.failure is None else self.failure}"]
        lines += [
            f"  {name}: true in {n} of {self.runs} runs" for name, n in self.sometimes.items()
        ]
        lines += [f"  {kind}: {n} messages" for kind, n in self.hits.items()]
        return "\n".join(lines)


def explore(
    fn: Callable[..., Any],
    world_size: int,
    seeds: int | Iterable[int] = 100,
    faults: Chaos | Plan | Sequence[Fault | str] | None = None,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    net: Network | Topology | str = "sim://",
    timeout: timedelta | float | None = None,
    hardships: str = ALL,
    events: int | None = EVENTS,
    check: Callable[[Report[Any]], object] | None = None,
    tolerate: type[BaseException] | tuple[type[BaseException], ...] = (),
) -> Failure | None:
    """Run `fn` under many seeds; the first failure, or None.

    An exception is a failure unless it is one that you `tolerate`; so is one that `check(report)`
    raises. `faults` is a `chaos` (by default `chaos()`), or a list whose chances depend on the seed.
    Warns (NeverTrue) where what `sometimes` speaks of was never true.
    """
    found = survey(
        fn, world_size, seeds, faults, args=args, kwargs=kwargs, net=net, timeout=timeout,
        hardships=hardships, events=events, check=check, tolerate=tolerate,
    )  # fmt: skip
    if found.failure is None and found.never():
        names = ", ".join(map(repr, found.never()))
        warnings.warn(
            f"{names} was never true in {found.runs} runs, so it was not tested: take more seeds, or "
            "faults that lead there",
            NeverTrue,
            stacklevel=2,
        )
    return found.failure


def survey(
    fn: Callable[..., Any],
    world_size: int,
    seeds: int | Iterable[int] = 100,
    faults: Chaos | Plan | Sequence[Fault | str] | None = None,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    net: Network | Topology | str = "sim://",
    timeout: timedelta | float | None = None,
    hardships: str = ALL,
    events: int | None = EVENTS,
    check: Callable[[Report[Any]], object] | None = None,
    tolerate: type[BaseException] | tuple[type[BaseException], ...] = (),
) -> Survey:
    """As `explore`, with all that was counted."""
    allowed = tolerate if isinstance(tolerate, tuple) else (tolerate,)
    setting = Setting(fn, args, kwargs or {}, net, timeout, events, check, allowed)
    found = Survey(0, None, Counter(), Counter())
    with outside.kept_out():  # once for all runs
        _survey(found, setting, world_size, seeds, faults, hardships)
    return found


def _survey(
    found: Survey,
    setting: Setting,
    world_size: int,
    seeds: int | Iterable[int],
    faults: Chaos | Plan | Sequence[Fault | str] | None,
    hardships: str,
) -> None:
    """Count what the runs do, up to the first that fails."""
    horizon = None
    for seed in range(seeds) if isinstance(seeds, int) else seeds:
        if horizon is None and seed:
            horizon = _horizon(setting, world_size)
        case = _case(seed, world_size, faults, hardships, horizon or 0)
        outcome = setting.play(case)
        found.runs += 1
        for name, was_true in outcome.sometimes.items():
            found.sometimes[name] += was_true
        for hit in outcome.hits:
            found.hits[hit.fault.kind] += 1
        if outcome.error is not None:
            found.failure = Failure(setting, outcome)
            _warn_if_it_varies(setting, outcome)
            break


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
    program has changed since, and fails elsewhere, a note says so."""
    case = cases.parse(token)
    outcome = Setting(fn, args, kwargs or {}, net, timeout, EVENTS, check).play(case)
    if outcome.error is None:
        assert outcome.report is not None
        return outcome.report
    if case.event is not None and outcome.event != case.event:
        outcome.error.add_note(
            f"The token speaks of event {case.event}, but this was event {outcome.event}: the program, "
            "its arguments or its network are not those of then"
        )
    raise outcome.error


def test(
    world_size: int,
    seeds: int | Iterable[int] = 50,
    faults: Chaos | Plan | Sequence[Fault | str] | None = None,
    *,
    net: Network | Topology | str = "sim://",
    timeout: timedelta | float | None = None,
    hardships: str = ALL,
    events: int | None = EVENTS,
    check: Callable[[Report[Any]], object] | None = None,
    tolerate: type[BaseException] | tuple[type[BaseException], ...] = (),
) -> Callable[[F], F]:
    """A test that runs on every rank of a simulated world, under many seeds.

        @sim.test(world_size=8, seeds=50)
        def test_training():
            ...

    A failing test says how to run that seed alone (MTD_SEED=412 pytest -k test_training) and its
    token. Parameters and fixtures of pytest are passed on to every rank.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run_all(*args: Any, **kwargs: Any) -> None:
            chosen = os.environ.get(SEED)
            failure = explore(
                function, world_size, seeds if chosen is None else [int(chosen)], faults, args=args,
                kwargs=kwargs, net=net, timeout=timeout, hardships=hardships, events=events,
                check=check, tolerate=tolerate,
            )  # fmt: skip
            if failure is not None:
                name = function.__name__
                failure.error.add_note(f"{SEED}={failure.seed} pytest -k {name}")
                failure.error.add_note(f"sim.replay({failure.replay_token!r}, {name}.__wrapped__)")
                raise failure.error

        return run_all  # type: ignore[return-value]

    return decorate


test.__test__ = False  # type: ignore[attr-defined]  # pytest: it makes tests, and is none


def _case(
    seed: int,
    world_size: int,
    faults: Chaos | Plan | Sequence[Fault | str] | None,
    hardships: str,
    horizon: int,
) -> Case:
    if seed == 0:
        return Case(0, world_size)
    if isinstance(faults, Plan):
        return Case(seed, world_size, faults.faults, hardships, faults.reliable)
    if faults is None or isinstance(faults, Chaos):
        planned = (faults or chaos()).plan(seed, world_size, horizon)
    else:
        planned = tuple(plans.check(faults, world_size))
    return Case(seed, world_size, planned, hardships)


def _horizon(setting: Setting, world_size: int) -> int:
    """How long a calm run takes; what it raises counts as seed 0, which may not be wanted."""
    calm = setting.play(Case(0, world_size))
    return calm.report.time if calm.report is not None else calm.fall.at if calm.fall else 0


def _warn_if_it_varies(setting: Setting, outcome: Outcome) -> None:
    again = setting.play(outcome.case)
    if not again.fails_like(outcome) or again.event != outcome.event:
        warnings.warn(
            f"the failing run is not the same when it is made again ({outcome.error!r} at event "
            f"{outcome.event}, then {again.error!r} at {again.event}): the program depends on "
            "something outside the simulation. sim.check_determinism(fn, …) says where it begins",
            RuntimeWarning,
            stacklevel=3,
        )
