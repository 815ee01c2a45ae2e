"""A visit to a hostile folder is judged: for each kind of fall there is a visit here that falls so."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.folders import place
from transports import keeper


def rightly(at: Path) -> None:
    with keeper.replacing(at / "ours") as file:
        file.write(b"x")


def to_others(at: Path) -> None:
    (at / "victim").write_bytes(b"x")


def outside(at: Path) -> None:
    (at.parent / "new").write_bytes(b"x")


def untidily(at: Path) -> None:
    draft = keeper.Draft(at)
    draft.held.close()


def wrongly(at: Path) -> None:
    raise KeyError(1)


def never(at: Path) -> None:
    signal.pause()


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (rightly, ""),
        (to_others, "changed what is of others"),
        (outside, "wrote outside of its folder"),
        (untidily, "left behind"),
        (wrongly, "KeyError"),
        (never, "Hang: it has been at it"),
    ],
)
def test_a_visit_to_a_folder_is_judged(
    does: Callable[[Path], None], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "SECONDS", 0.2 if does is never else 20.0)
    handler = signal.getsignal(signal.SIGALRM)
    try:
        visit = place.Visit("it", rightly, does, (OSError,), ("ours",), ("fifo", "nothing", "cut"))
        session = place.Folders(visit, 1, tmp_path)
        verdicts = [session.attempt(number).verdict for number in range(8)]
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert any(says in verdict.why for verdict in verdicts)
    assert any(verdict.has_fallen for verdict in verdicts) == bool(says)
    assert list(tmp_path.iterdir()) == []
