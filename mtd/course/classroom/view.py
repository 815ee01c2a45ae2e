"""The view of a room on the teacher's terminal: text of a given width, names as text and nothing else."""

from __future__ import annotations

from math import ceil
from typing import Final

from rich.cells import cell_len

from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.spacetime import Picture
from mtd.course.classroom.room import GATHERING, LOBBY, RACING, Room
from mtd.course.classroom.seats import AWAY, HERE, UNPLUGGED, Seat

SIGNS: Final = {HERE: "●", AWAY: "✗", UNPLUGGED: "✗"}  # else: ·
COLUMN: Final = 26  # of a seat
BAR: Final = 40


def headline(room: Room) -> str:
    """Where the class is, in a line."""
    here = len(room.seats.here())
    laptops = f"{here} laptop{'s' * (here != 1)}"
    if room.is_over:
        return "the class is over"
    if room.phase == RACING:
        return f"race   generation {room.generation.number}   {laptops}"
    if room.phase == LOBBY:
        stopped = f"stopped after step {room.step}" if room.step else "lobby"
        done = "finished" if room.is_finished else stopped
        return f"{done}   {laptops} of {room.seats.count} seats"
    if room.phase == GATHERING and room.contest is not None:
        return f"gathering for a race   {laptops}"
    what = "gathering" if room.phase == GATHERING else "training"
    loss = f"   loss {room.losses[-1][1]:.3f}" if room.losses else ""
    return f"{what}   generation {room.generation.number}   {laptops}   step {room.step} of {room.plan.steps}{loss}"


def progress(room: Room) -> str:
    """The steps, and which of the recorded ones were the golden ones."""
    if not room.step:
        return ""
    filled = room.step * BAR // room.plan.steps
    bar = "█" * filled + "·" * (BAR - filled)
    return f"{bar}  {golden(room)}".rstrip()


def golden(room: Room) -> str:
    """Whether the weights were the recorded ones, as far as there are some; "✘ …" if once they were not."""
    wrong = [step for step, is_so in room.verdicts.items() if not is_so]
    if wrong:
        return f"✘ not the golden weights at step {wrong[0]}"
    return f"✔ golden weights at step {max(room.verdicts)}" if room.verdicts else ""


def seats(room: Room, width: int) -> list[str]:
    """All seats, in columns."""
    cells = [_cell(room, seat) for seat in room.seats.all()]
    if not cells:
        return ["nobody is here yet"]
    columns = max(1, min(width // COLUMN, len(cells)))
    rows = ceil(len(cells) / columns)
    padded = [cell + " " * max(COLUMN - cell_len(cell), 1) for cell in cells]
    return ["".join(padded[row::rows]).rstrip() for row in range(rows)]


def _cell(room: Room, seat: Seat) -> str:
    state = "" if seat.state == HERE else f" {seat.state}"
    if seat.is_stuck and seat.state == HERE:
        state = " does not answer"
    if not state and room.phase in ("training", RACING) and seat in room.generation.members:
        state = f" r{room.generation.members.index(seat)}"
    return f"{SIGNS.get(seat.state, '·')} {seat.number:>2} {seat.name}{state}"


def picture(room: Room, width: int) -> Picture | None:
    """The last whole step, if any was drawn."""
    if room.drawing is None or not room.drawing.scene.arrows:
        return None
    return spacetime.draw(room.drawing.scene, width, ranks=32, gap=1)


def race(room: Room) -> list[str]:
    """The table of a race that is over, or the tables that run."""
    if room.contest is None or not room.contest.tables:
        return []
    contest = room.contest
    lines = [f"{'table':<20}{'laptops':>8}{'seconds':>9}{'bytes sent':>13}{'rounds':>8}{'messages':>10}"]
    for table in contest.tables:
        done = f"{len(table.results)} done" if not contest.is_over else f"{table.seconds:.2f}"
        wins = "  wins" if table is contest.winner else "" if table.is_right else "  wrong"
        lines.append(
            f"{table.algorithm:<20}{len(table.members):>8}{done:>9}{table.sent:>13}"
            f"{table.rounds * contest.times:>8}{table.messages * contest.times:>10}{wins}"
        )
    return lines


def story(room: Room, count: int) -> list[str]:
    return room.story[-count:] if count > 0 else []


def loss_line(room: Room, width: int) -> str:
    """The loss as a row of little bars."""
    losses = [loss for _, loss in room.losses]
    if len(losses) < 2:
        return ""
    bars, width = "▁▂▃▄▅▆▇█", min(width, len(losses))
    picked = [losses[place * (len(losses) - 1) // max(width - 1, 1)] for place in range(width)]
    highest = max(picked) or 1.0
    return "".join(bars[int(min(max(loss / highest, 0.0) * 8, 7))] for loss in picked)
