"""The kit itself: which checks there are, and how they are run and reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from transports.conformance import endings, lines
from transports.conformance.bench import AFTER_ANOTHER, FAILED, Broken, Desk, End
from transports.conformance.launchers import Launch
from transports.contract import Transport
from transports.stores.store import PrefixStore

CHECKS: dict[str, tuple[int, Callable[[Desk], None]]] = {
    "connect": (1, lines.connect),
    "missing": (1, lines.missing),
    "both_first": (2, lines.both_first),
    "sizes": (3, lines.sizes),
    "interleaved": (3, lines.interleaved),
    "threads_send": (3, lines.threads_send),
    "threads_wait": (3, lines.threads_wait),
    "arguments": (3, lines.arguments),
    "patience": (3, lines.patience),
    "reuse": (4, lines.reuse),
    "farewell": (5, endings.farewell),
    "close_twice": (5, endings.close_twice),
    "close_wakes": (5, endings.close_wakes),
    "death": (6, endings.death),
    "death_in_send": (6, endings.death_in_send),
}
DEADLY = ("death", "death_in_send")  # a rank ends in these: each needs a launch of its own

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
    patience: float = 30.0,
    stranger: Attack | None = None,
) -> None:
    """Hold a transport against the contract; NotConforming lists what it breaks.

    `launch` runs a program on every rank (see the package). `only` names some of CHECKS, and
    `patience` is how many seconds anything may take before it counts as silence. Line 7 differs
    from medium to medium: `stranger(transport)`, called on rank 0 of a connected world, tries to
    get in without the job's key, and afterwards everything has to be as if it had not been.
    """
    names = list(CHECKS) if only is None else list(only)
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise ValueError(f"there are no checks {unknown}; there are {', '.join(CHECKS)}")
    complaints: list[str] = []
    for world_size in world_sizes:
        batches = [[name for name in names if name not in DEADLY]]
        batches += [[name] for name in names if name in DEADLY and world_size > 1]
        if stranger is not None:
            batches.append(["stranger"])
        for batch in batches:
            complaints += _run(launch, world_size, batch, patience, stranger)
    if complaints:
        raise NotConforming(complaints)


def _run(
    launch: Launch, world_size: int, names: list[str], patience: float, stranger: Attack | None
) -> list[str]:
    """Run checks in one world; after a check that fails the rest begin in a fresh one."""
    complaints = []
    while names:
        found = [bad for bad in launch(world_size, Trials(names, patience, stranger)) if bad]
        if not found:
            break
        at = min(place for place, _ in found)
        texts = sorted({text for place, text in found if place == at})
        texts = [text for text in texts if not text.endswith(AFTER_ANOTHER)] or texts
        line = CHECKS[names[at]][0] if names[at] in CHECKS else 7
        complaints.append(
            f"contract line {line}, check {names[at]!r}, {world_size} ranks: {'; '.join(texts)}"
        )
        names = names[at + 1 :]
    return complaints


class Trials:
    """The program that every rank runs: some checks, one after the other. Can be pickled."""

    def __init__(self, names: list[str], patience: float, stranger: Attack | None) -> None:
        self.names, self.patience, self.stranger = names, patience, stranger

    def __call__(self, end: End) -> tuple[int, str] | None:
        """None, or the place of the check that failed here and what it says."""
        for place, name in enumerate(self.names):
            complaint = self._try(end, place, name)
            if complaint:
                return place, f"rank {end.rank}: {complaint}"
        return None

    def _try(self, end: End, place: int, name: str) -> str | None:
        store = PrefixStore(f"{place}", end.store)
        own = End(end.rank, end.world_size, end.make, store, end.die)
        desk = Desk(own, name, self.patience)
        complaints = self._run(desk, name)
        if complaints:
            store.set(FAILED, b"")  # so that the others need not wait for us
        try:
            desk.transport.close()
        except Exception as error:
            complaints.append(f"close raised {type(error).__name__}: {error}")
        return "; ".join([*desk.tray.complaints, *complaints]) or None

    def _run(self, desk: Desk, name: str) -> list[str]:
        try:
            if name == "stranger":
                assert self.stranger is not None, "that is when this check runs"
                endings.stranger(desk, self.stranger)
            else:
                CHECKS[name][1](desk)
        except Broken as error:
            return [f"{error}"]
        except Exception as error:
            return [re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")]
        return []
