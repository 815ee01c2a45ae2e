"""The results of a learner beside the lessons: in the museum, the games, the contest, the capstone.

enter("game", "lost_update", 3, "★★★ in 4 moves")       into progress.json, where it is better than before
lines(progress)                                           ("game", "2 of 8: lost_update ★★★ in 4 moves, …")
"""

from __future__ import annotations

from contextlib import suppress

from mtd.course import levels, museum, progress as progresses
from mtd.course.progress import BestResult, Progress
from mtd.course.workspace import WorkspaceError, find

ROOMS = {
    "museum": "bugs that people had: mtd museum",
    "property": "a check for them: mtd museum --property",
    "game": "be the network, or a rank: mtd game",
    "contest": "a schedule of your own: mtd contest",
    "capstone": "one script, seven worlds: mtd capstone",
}
SHOWN = 3  # of a room; the rest is counted


def enter(room: str, name: str, points: float, said: str) -> None:
    """The best of each is kept. Without a learner's folder nothing is, and that is no trouble."""
    with suppress(OSError, WorkspaceError), progresses.changing(find().folder) as progress:
        before = progress.rooms.setdefault(room, {}).get(name)
        if before is None or points > before.points:
            progress.rooms[room][name] = BestResult(float(points), said)


def lines(progress: Progress) -> list[tuple[str, str, bool]]:
    """Each part, what was done there, and whether anything was."""
    return [(room, said(room, progress.rooms.get(room, {})), room in progress.rooms) for room in ROOMS]


def said(room: str, done: dict[str, BestResult]) -> str:
    if not done:
        return ROOMS[room]
    best = sorted(done.items(), key=lambda each: -each[1].points)
    shown = ", ".join(f"{name} {one.said}" for name, one in best[:SHOWN])
    more = f" and {len(best) - SHOWN} more" if len(best) > SHOWN else ""
    total = {"museum": len(museum.exhibits()), "game": len(levels.NAMES) + 1}.get(room)
    return f"{len(done)} of {total}: {shown}{more}" if total else f"{shown}{more}"
