"""Every schedule of a small program, once each, and the shortest that fails.

    found = sim.exhaust(serve, world_size=4)
    found.runs, found.failure            # 6 runs: the orders in which three clients can come

A run is repeated many times, each time with one choice made differently (depth first). Choices of
different ranks commute. So only one is made of the runs that differ in their order alone. The choice that
was tried first sleeps in its siblings, until its own rank does something else.

           ┌ A ─ B          A and B belong to different ranks:
    start ─┤                A·B is the same run as B·A,
           └ B ─ A̶          so A sleeps after B, until B's successors wake it

Sleep sets: Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", LNCS 1032,
1996. A program whose receives all name their source has one schedule, and one run shows all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from minitorch_dist.sim.choices import DENIALS, Choice, Choices
from minitorch_dist.sim.exploring import strictly
from minitorch_dist.sim.failure import EVENTS, Failure, ProgramSetup, RunOutcome
from minitorch_dist.sim.replay_token import FailureCase
from minitorch_dist.sim.report import Report
from transports.faults import plans
from transports.faults.plans import Fault
from transports.virtual.network import Network
from transports.virtual.topology import Topology

MOST = 10_000  # runs


@dataclass
class ChoicePoint:
    """A place where something was to choose."""

    options: Sequence[Choice]
    asleep: set[Choice]
    tried: list[Choice] = field(default_factory=list)

    @property
    def chosen(self) -> Choice:
        return self.tried[-1]

    def next(self) -> Choice | None:
        """A choice that has not been tried here and does not sleep."""
        for option in self.options:
            if option not in self.tried and option not in self.asleep:
                return option
        return None

    def sleepers(self) -> set[Choice]:
        """The choices that sleep after the present one: they commute with it, and were tried or slept."""
        before = self.asleep | set(self.tried[:-1])
        return {choice for choice in before if choice.rank != self.chosen.rank}


class ChoicePath:
    """The path to the present run, as a decider."""

    def __init__(self, prune: bool = True) -> None:
        self._prune = prune
        self.path: list[ChoicePoint] = []
        self._depth = 0
        self.is_redundant = False

    def begin(self) -> None:
        self._depth, self.is_redundant = 0, False

    def decide(self, options: Sequence[Choice]) -> Choice:
        if self.is_redundant:
            return options[0]
        if self._depth == len(self.path):
            sleeps = bool(self.path) and self._prune
            node = ChoicePoint(options, self.path[-1].sleepers() if sleeps else set())
            first = node.next()
            if first is None:  # all of it was seen in another order
                self.is_redundant = True
                return options[0]
            node.tried.append(first)
            self.path.append(node)
        node = self.path[self._depth]
        if list(node.options) != list(options):
            raise AssertionError(f"the program is not the same again: {options} after {self.path}")
        self._depth += 1
        return node.chosen

    def advance(self) -> bool:
        """Go on to the next path; False if there is none."""
        while self.path:
            following = self.path[-1].next()
            if following is not None:
                self.path[-1].tried.append(following)
                return True
            self.path.pop()
        return False

    def numbers(self) -> tuple[int, ...]:
        """The path in numbers, for a token."""
        return tuple(
            list(node.options).index(node.chosen) for node in self.path[: self._depth] if len(node.options) > 1
        )


@dataclass(frozen=True)
class Exhaustion:
    """The result of `exhaust`. `runs` are different schedules; `redundant` ones were begun and turned
    out to be others in another order. `is_complete`: there are no more."""

    runs: int
    redundant: int
    failures: int
    failure: Failure | None  # the one with the fewest choices
    is_complete: bool
    results: list[Any]  # the different results, of all ranks, in the order in which they were found
    buffering: Failure | None = None  # where nothing fails: the run in which each send waits for its receive

    def __str__(self) -> str:
        more = "all there are" if self.is_complete else "and there are more"
        end = f", {self.failures} fail" if self.failures else ", none fails"
        leans = "; it leans on sends that are buffered" if self.buffering is not None else ""
        return f"{self.runs} schedules, {more}{end}; {len(self.results)} different results{leans}"


def exhaust(
    fn: Callable[..., Any],
    world_size: int,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    net: Network | Topology | str = "sim://",
    faults: Sequence[Fault | str] = (),
    check: Callable[[Report[Any]], object] | None = None,
    tolerate: type[BaseException] | tuple[type[BaseException], ...] = (),
    most: int = MOST,
    denials: int = DENIALS,
    events: int | None = EVENTS,
    prune: bool = True,
) -> Exhaustion:
    """Run `fn` under every schedule, at most `most` of them; of those that fail, the shortest.

    The choices: which message a receive from anybody takes, and whether is_completed() says no. Timeouts come last,
    after all that could happen before. Not chosen are the order in which ranks reach the store, and what `explore` varies.

    Args:
        fn: The function that every rank calls.
        world_size: How many ranks there are.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        net: The network (see `run`).
        faults: Faults of every run.
        check: Called with each report; an error that it raises is a failure.
        tolerate: Types of exceptions that are no failure.
        most: The largest number of runs.
        denials: How often is_completed() says no, for each rank.
        events: After so many events a run is a Livelock.
        prune: False does without sleep sets, and makes the same runs in all their orders.

    Returns:
        An Exhaustion: `runs`, and the shortest `failure` or None.

    Example:
        >>> def serve():
        ...     if dist.get_rank() > 0:
        ...         return dist.send(torch.ones(1), 0)
        ...     return [dist.recv(torch.empty(1)) for _ in range(3)]
        >>> found = sim.exhaust(serve, 4)
        >>> found.runs, found.failure
        (6, None)
    """
    allowed = tolerate if isinstance(tolerate, tuple) else (tolerate,)
    setting = ProgramSetup(fn, args, kwargs or {}, net, None, events, check, allowed)
    case = FailureCase(0, world_size, tuple(plans.check(faults, world_size)))
    tree, results = ChoicePath(prune), []
    runs = redundant = failures = 0
    best: tuple[int, tuple[int, ...], RunOutcome] | None = None
    is_complete = False
    while runs + redundant < most:
        tree.begin()
        choices = Choices(tree, denials)
        outcome = setting.play(case, choices.apply_to)
        if not tree.is_redundant:
            runs += 1
            numbers = tree.numbers()
            if outcome.error is not None:
                failures += 1
                if best is None or (len(numbers), numbers) < best[:2]:
                    story = choices.story()
                    found = replace(outcome, case=replace(case, choices=numbers), schedule=story)
                    best = len(numbers), numbers, found
            elif outcome.report is not None and outcome.report.results not in results:
                results.append(outcome.report.results)
        else:
            redundant += 1
        if not tree.advance():
            is_complete = True
            break
    failure = None if best is None else Failure(setting, best[2])
    buffering = strictly(setting, case) if best is None else None
    return Exhaustion(runs, redundant, failures, failure, is_complete, results, buffering)
