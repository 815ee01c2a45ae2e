"""The kit itself: which checks there are, and how they are run and reported."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from transports.conformance import endings, lines
from transports.conformance.bench import AFTER_ANOTHER, FAILED, Broken, End, RankCheck, Silent
from transports.conformance.launchers import Launch
from transports.contract import Transport
from transports.stores.store import PrefixStore

_OF_LINE: dict[int, tuple[Callable[[RankCheck], None], ...]] = {
    1: (lines.connect, lines.missing),
    2: (lines.both_first,),
    3: (lines.sizes, lines.interleaved, lines.threads_send, lines.threads_wait, lines.arguments, lines.patience),
    4: (lines.reuse,),
    5: (endings.farewell, endings.close_twice, endings.close_wakes),
    6: (endings.death, endings.death_in_send),
}
CHECKS = {check.__name__: (line, check) for line, checks in _OF_LINE.items() for check in checks}
DEADLY = ("death", "death_in_send")  # a rank ends in these: each needs a launch of its own
CONNECT_THEMSELVES = ("connect", "missing")
WITHOUT_LOSS = ("missing", "close_twice", "close_wakes")  # no message has to arrive in these

SILENCE = 4  # times `patience` may pass in a check without a byte, since ranks wait for each other
LIMIT = 20  # times `patience` is the limit of a whole check
NOT_TRIED = "; the checks behind it were not tried"

Attack = Callable[[Transport], None]


class NotConforming(AssertionError):
    """The transport breaks the contract; one sentence for each broken line."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__("\n".join(complaints))
        self.complaints = complaints


def check(
    launch: Launch,
    world_sizes: Sequence[int] = (1, 2, 3, 5),
    only: Sequence[str] | None = None,
    patience: float = 15.0,
    stranger: Attack | None = None,
) -> list[str]:
    """Hold a transport against the contract; NotConforming lists what it breaks.

    `launch` runs a program on every rank (see the package). `only` names some of CHECKS, and
    `patience` is how many seconds without a byte count as silence. A check in which nothing comes for four
    times as long, or which takes twenty times as long, is ended.
    After a rank that is silent, or a call that does not return, no more is tried. Line 7 differs
    from medium to medium. `stranger(transport)` is called on rank 0 of a connected world, and tries
    to get in without the job's key. Afterwards everything has to be as if it had not been there.

    It returns the names of the checks that were run. A transport that declares `may_lose` is not held to the arrival
    of messages.
    """
    names = [*CHECKS] if only is None else list(only)
    if unknown := [name for name in names if name not in CHECKS]:
        raise ValueError(f"there are no checks {unknown}; there are {', '.join(CHECKS)}")
    complaints: list[str] = []
    passed: set[str] = set()
    for world_size in world_sizes:
        batches = [[name for name in names if name not in DEADLY]]
        batches += [[name] for name in names if name in DEADLY and world_size > 1]
        batches += [["stranger"]] if stranger is not None else []
        for batch in batches:
            trials = Trials(batch, patience, stranger)
            found, is_silent = _run(launch, world_size, batch, trials, passed)
            complaints += found
            if is_silent:
                raise NotConforming([*complaints[:-1], complaints[-1] + NOT_TRIED])
    if complaints:
        raise NotConforming(complaints)
    return [name for name in names if name in passed]


class CheckOutcome(NamedTuple):
    """The findings of one rank."""

    passed: list[str]
    failed: str = ""  # the check that did not pass here, if there is one
    why: str = ""
    is_silent: bool = False  # because somebody waits, perhaps for ever


def _run(launch: Launch, world_size: int, names: list[str], trials: Trials, passed: set[str]) -> tuple[list[str], bool]:
    """Run checks in one world; after a check that fails the rest begin in a fresh one. The complaints, and
    whether the last one is that somebody is silent."""
    complaints: list[str] = []
    while trials.names:
        try:
            outcomes = [outcome for outcome in launch(world_size, trials) if outcome is not None]
        except TimeoutError as error:
            titles = " or ".join(_title(name) for name in trials.names)
            return [*complaints, f"{titles}, {world_size} ranks: {error}"], True
        passed.update(*(outcome.passed for outcome in outcomes))
        failed = {outcome.failed for outcome in outcomes if outcome.failed}
        if not failed:
            break
        name = min(failed, key=names.index)
        texts = sorted({outcome.why for outcome in outcomes if outcome.failed == name})
        texts = [text for text in texts if not text.endswith(AFTER_ANOTHER)] or texts
        complaints.append(f"{_title(name)}, {world_size} ranks: {'; '.join(texts)}")
        if any(outcome.is_silent for outcome in outcomes):
            return complaints, True
        trials = Trials(trials.names[trials.names.index(name) + 1 :], trials.patience, trials.stranger)
    return complaints, False


def _title(name: str) -> str:
    return f"contract line {CHECKS[name][0] if name in CHECKS else 7}, check {name!r}"


class Trials:
    """The program that every rank runs: some checks, one after the other. Can be pickled."""

    def __init__(self, names: list[str], patience: float, stranger: Attack | None) -> None:
        self.names, self.patience, self.stranger = names, patience, stranger

    def __call__(self, end: End) -> CheckOutcome:
        passed: list[str] = []
        for place, name in enumerate(self.names):
            desk = RankCheck(replace(end, store=PrefixStore(f"{place}", end.store)), self.patience)
            if desk.transport.may_lose and name in CHECKS and name not in WITHOUT_LOSS:
                continue
            complaints, is_silent = self._try(desk, name)
            if complaints:
                why = f"rank {end.rank}: {'; '.join(complaints)}"
                return CheckOutcome(passed, name, why, is_silent)
            passed.append(name)
        return CheckOutcome(passed)

    def _try(self, desk: RankCheck, name: str) -> tuple[list[str], bool]:
        """The faults, and whether somebody is silent."""
        silence, limit = SILENCE * self.patience, LIMIT * self.patience
        complaints, is_silent = list[str](), False
        try:
            desk.beside(lambda: self._run(desk, name), "the check", silence, limit)
        except Exception as error:
            complaints, is_silent = [_in_words(error)], isinstance(error, Silent)
            desk.store.set(FAILED, b"")  # so that the others need not wait for us
        try:
            desk.beside(desk.transport.close, "close", min(self.patience, 5.0) if is_silent else None)
        except Silent as error:
            complaints += [] if is_silent else [f"{error}"]
            is_silent = True
        except Exception as error:
            complaints.append(f"close raised {type(error).__name__}: {error}")
        complaints = [*desk.tray.complaints, *complaints]
        desk.tray.messages.clear()  # hundreds of megabytes, in a circle that Python finds late
        return complaints, is_silent

    def _run(self, desk: RankCheck, name: str) -> None:
        if name not in CONNECT_THEMSELVES:
            desk.connect()
        if name in CHECKS:
            CHECKS[name][1](desk)
        else:
            assert self.stranger is not None, "that is when this check runs"
            endings.stranger(desk, self.stranger)
        desk.meet("end", away=int(name in DEADLY))


def _in_words(error: Exception) -> str:
    """A complaint; of an error that no check expects also its place."""
    if isinstance(error, Broken):
        return f"{error}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
    return f"{said}, at {Path(place.filename).name}:{place.lineno}"
