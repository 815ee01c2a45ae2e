"""A run that failed: what went wrong, in the fewest faults, and how to see it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, TypeAlias

from minitorch_dist.sim import runner, scene, unfinished
from minitorch_dist.sim.arrival_order import ArrivalNote, difference
from minitorch_dist.sim.choices import Choices, Following
from minitorch_dist.sim.failure_identity import identity
from minitorch_dist.sim.hardship import NAMES
from minitorch_dist.sim.replay_token import FailureCase
from minitorch_dist.sim.report import Report
from minitorch_dist.sim.stage import Fall, SimulationStage
from transports.errors import Livelock
from transports.faults.plans import Fault, Strike
from transports.virtual.fault_injector import Hit
from transports.virtual.network import Network
from transports.virtual.topology import Topology

EVENTS = 200_000  # of a run, before it is a livelock


@dataclass(frozen=True)
class ProgramSetup:
    """The settings that all runs of a program have in common."""

    fn: Callable[..., Any]
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    net: Network | Topology | str = "sim://"
    timeout: timedelta | float | None = None
    events: int | None = EVENTS
    check: Callable[[Report[Any]], object] | None = None
    tolerate: tuple[type[BaseException], ...] = ()

    def play(self, case: FailureCase, prepared: Callable[[SimulationStage], None] | None = None) -> RunOutcome:
        """Make one run."""
        seen: list[SimulationStage] = []
        choices = Choices(Following(case.choices)) if case.choices else None

        def prepare(stage: SimulationStage) -> None:
            seen.append(stage)
            if choices is not None:
                choices.apply_to(stage)
            if prepared is not None:
                prepared(stage)

        report, error = None, None
        try:
            report = runner.run(
                self.fn, case.world_size, self.args, self.kwargs, net=self.net, seed=case.seed,
                with_=[unfinished.watched], timeout=self.timeout, events=self.events, faults=case.plan(),
                hardships=case.hardships, prepared=prepare,
            )  # fmt: skip
            if self.check is not None:
                self.check(report)
        except Exception as caught:
            error = caught
        if not seen:  # it never began
            assert error is not None
            raise error
        stage = seen[0]
        if error is not None and stage.fall is None:
            stage.tell(error)  # all had returned, and `check` does not like what
        if isinstance(error, self.tolerate):
            error = None
        hits = [] if stage.injector is None else stage.injector.hits
        words = "" if error is None else f"{stage.fall.scene if stage.fall else scene.describe(stage)}"
        return RunOutcome(
            case,
            report,
            error,
            stage.fall,
            hits,
            dict(stage.sometimes),
            words,
            [] if choices is None else choices.story(),
            stage.arrivals.first,
        )


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run: a report or an error."""

    case: FailureCase
    report: Report[Any] | None
    error: Exception | None
    fall: Fall | None
    hits: Sequence[Hit]
    sometimes: dict[str, bool]
    scene: str = ""
    schedule: Sequence[str] = ()  # what was chosen, in words
    arrivals: Sequence[ArrivalNote] = ()  # where the program leaves them to times

    @property
    def event(self) -> int | None:
        return None if self.fall is None else self.fall.event

    def fails_like(self, other: RunOutcome) -> bool:
        """Whether this is the same failure (see `identity`)."""
        if self.error is None or other.error is None:
            return False
        return identity(self.error) == identity(other.error)


class Failure:
    """A failing run. `tries` is how many runs it took to make it as small as it is.

    Args:
        setting: The program, and how it was run.
        outcome: What happened.
        tries: How many runs it took to find it as small as it is.
        passing: A run that did not fail, with which its order of arrival is compared.

    Example:
        >>> def broken():
        ...     raise ValueError("always")
        >>> failure = sim.explore(broken, 2, seeds=1).minimise()
        >>> "ValueError" in failure.explain(), failure.faults
        (True, ())
    """

    def __init__(
        self, setting: ProgramSetup, outcome: RunOutcome, tries: int = 0, passing: RunOutcome | None = None
    ) -> None:
        assert outcome.error is not None
        self.passing = passing
        self.setting, self.outcome, self.tries = setting, outcome, tries
        is_endless = isinstance(outcome.error, Livelock)
        limit = setting.events if is_endless and setting.events != EVENTS else None
        self.case = replace(outcome.case, event=outcome.event, limit=limit)
        self.error: Exception = outcome.error

    @property
    def seed(self) -> int:
        return self.case.seed

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self.case.faults

    @property
    def event(self) -> int | None:
        """How many events had happened when the first rank failed."""
        return self.case.event

    @property
    def replay_token(self) -> str:
        return str(self.case)

    def explain(self) -> str:
        """The failure in words: the error, its place, the faults, and what all ranks were doing."""
        fall = self.outcome.fall
        lines = [f"seed {self.seed}: {fall or f'{type(self.error).__name__} after all had returned'}"]
        lines += [f"  {line}" for line in str(self.error).splitlines()]
        lines += [f"  {line}" for note in _notes(self.error) for line in note.splitlines()]
        if self.faults:
            lines.append("faults that were planned")
            lines += [f"  {fault}" for fault in self.faults]
        if self.case.hardships:
            lines.append(f"hardships: {self.case.hardships} (see sim.hardship)")
        if told := self._difference():
            lines += ["what made the difference", *(f"  {line}" for line in told.splitlines())]
        if self.outcome.schedule:
            lines.append("what came first, where it was not given")
            lines += [f"  {n}. {line}" for n, line in enumerate(self.outcome.schedule, 1)]
        lines += ["what the ranks were doing", self.outcome.scene]
        return "\n".join([*lines, f"again: sim.replay({self.replay_token!r}, {self._name()})"])

    def minimise(self, most: int = 300) -> Failure:
        """The same failure in as little as `most` runs can find: delta debugging over faults, single
        strikes and hardships, then simpler numbers in what is left. Without any one of its faults the
        run does not fail in this way, unless `most` was too few (see `tries`)."""
        search = _Search(self.setting, self.outcome, most)
        return Failure(self.setting, search.smallest(), search.tries, search.passing)

    def _difference(self) -> str:
        """Which order of arrival this run has and another one has not, which passes: the nearest that is known, or
        the calm one."""
        if not self.outcome.arrivals:
            return ""
        passing = self.passing or self.setting.play(FailureCase(0, self.case.world_size))
        return "" if passing.error is not None else difference(self.outcome.arrivals, passing.arrivals)

    def _name(self) -> str:
        return getattr(self.setting.fn, "__name__", "fn")

    def __str__(self) -> str:
        return (
            f"{type(self.error).__name__} with seed {self.seed}: {str(self.error).partition(chr(10))[0]}"
            f"\n{self.replay_token}"
        )

    def __repr__(self) -> str:
        return f"<Failure {type(self.error).__name__}, {self.replay_token}>"


Element: TypeAlias = "Fault | str"
"""A part that can be left out: a fault, or a hardship's letter."""


class _Search:
    """Zeller and Hildebrandt's delta debugging, 2002: leave out as much as still fails. Then every
    number of what is left is made as simple as it may be."""

    def __init__(self, setting: ProgramSetup, failing: RunOutcome, most: int) -> None:
        self._setting, self._best, self._most = setting, failing, most
        self._wanted = failing
        self._known: dict[tuple[Element, ...], RunOutcome | None] = {}
        self.tries = 0
        self.passing: RunOutcome | None = None  # the last run without a failure: it lacks the least

    def smallest(self) -> RunOutcome:
        case = self._best.case
        self._reduce([*case.hardships, *case.faults])
        singles = self._singles()
        if self._fails(singles):
            self._reduce(singles)
        while self._simplify():
            self._reduce(self._elements())  # what was needed for long may not be for short
        return self._best

    def _elements(self) -> list[Element]:
        return [*self._best.case.hardships, *self._best.case.faults]

    def _simplify(self) -> bool:
        """Make numbers simpler, one after the other; whether one was."""
        was_any = False
        for at in range(len(self._best.case.faults)):
            is_better = True
            while is_better:
                faults = self._best.case.faults
                others = [*self._best.case.hardships, *faults[:at]], faults[at + 1 :]
                is_better = any(self._fails([*others[0], other, *others[1]]) for other in simpler(faults[at]))
                was_any |= is_better
        return was_any

    def _singles(self) -> list[Element]:
        """The same with each chance replaced by what it struck."""
        found: list[Element] = list(self._best.case.hardships)
        for fault in self._best.case.faults:
            is_chance = isinstance(fault, Strike) and fault.number is None
            found += [fault] if not is_chance else []
        found += dict.fromkeys(hit.alone() for hit in self._best.hits)
        return list(dict.fromkeys(found))

    def _reduce(self, elements: list[Element]) -> None:
        parts = 2
        if elements and self._fails([]):
            return
        while len(elements) >= 2:
            size = -(-len(elements) // parts)
            blocks = [elements[at : at + size] for at in range(0, len(elements), size)]
            for block in blocks:
                rest = [element for element in elements if element not in block]
                if self._fails(rest):
                    elements, parts = rest, max(parts - 1, 2)
                    break
            else:
                if parts >= len(elements):
                    return
                parts = min(len(elements), 2 * parts)

    def _fails(self, elements: Sequence[Element]) -> bool:
        key = tuple(elements)
        if key in self._known:
            known = self._known[key]
            self._best = known or self._best
            return known is not None
        if self.tries >= self._most:
            return False
        self.tries += 1
        case = self._best.case
        letters = "".join(e for e in NAMES if e in elements)
        faults = tuple(e for e in elements if not isinstance(e, str))
        outcome = self._setting.play(replace(case, faults=faults, hardships=letters))
        if outcome.error is None:
            self.passing = outcome
        found = self._known[key] = outcome if outcome.fails_like(self._wanted) else None
        self._best = found or self._best
        return found is not None


def _notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", ()))


# ------------------------------------------------------------- faults with simpler numbers
#
# Faults with simpler numbers: a token that says "after 1 ms" is read sooner than one with picoseconds.
#
#     crash=1,at=1283746ps   →   crash=1,at=1us
#
# Of each number the simplest comes first that may do: none at all, a power of ten, one digit, two digits.

TIMES = ("at", "until", "heal", "restart", "span")  # picoseconds
FACTORS = ("p", "x")


def simpler(fault: Fault) -> Iterator[Fault]:
    """The same with one number made simpler, the simplest first."""
    for name in (each.name for each in fields(fault)):
        value, nice = getattr(fault, name), list[float]()
        if name in TIMES and value:
            nice = [*rounder(value, zero=name == "at")]
        elif name in FACTORS and value not in (1.0, 2.0, 10.0):
            nice = [1.0] if name == "p" else [10.0, 2.0, float(round(value))]
        for number in nice:
            change: dict[str, Any] = {name: number}
            with suppress(ValueError):  # an end before its beginning
                if number != value:
                    yield replace(fault, **change)


def rounder(value: int, zero: bool = False) -> list[int]:
    """Whole numbers near it with fewer digits: of equal length the smaller one first."""
    found = [0] if zero else []
    digits = len(str(value))
    power: int = 10 ** (digits - 1)
    if value % power == 0:  # one digit: that is simple
        return found
    found += [power, 10 * power]
    for kept in (1, 2):
        unit: int = 10 ** max(digits - kept, 0)
        found += [value // unit * unit, -(-value // unit) * unit]
    found = list(dict.fromkeys(found))
    return found[: found.index(value)] if value in found else found
