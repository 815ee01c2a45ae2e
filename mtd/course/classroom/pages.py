"""Two pages without scripts or anything from elsewhere: the projector's, and the certificate."""

from __future__ import annotations

import platform
from html import escape
from pathlib import Path
from typing import Final

import numpy as np

from minitorch_dist.inventory.release import __version__
from minitorch_dist.pictures import svg
from mtd.course.classroom import view
from mtd.course.classroom.room import GATHERING, Room
from mtd.course.classroom.seats import HERE, Seat
from mtd.course.classroom.training import golden

REFRESH: Final = 2  # seconds
TEMPLATE: Final = Path(__file__).with_name("page.html")
WIDTH, HEIGHT = 900, 120  # of the loss


def live(room: Room, join: str) -> str:
    """The page for the projector; the browser fetches it anew every other second, until the class is over."""
    refresh = "" if room.is_over else f'<meta http-equiv="refresh" content="{REFRESH}">'
    parts = [
        f"<p class=join>{escape(join)}</p>" if not room.is_over else "",
        f"<h1>{escape(view.headline(room).replace('   ', ' · '))}</h1>",
        _progress(room),
        f"<ul class=seats>{''.join(_seat(room, seat) for seat in room.seats.all())}</ul>",
        _race(room),
        svg.draw(room.drawing.scene, 1100) if room.drawing and room.drawing.scene.arrows else "",
        _losses(room),
        "<ol class=story>" + "".join(f"<li>{escape(line)}</li>" for line in reversed(room.story[-12:])) + "</ol>",
    ]
    return TEMPLATE.read_text("utf-8").format(
        title="A class of laptops", refresh=refresh, body="\n".join(filter(None, parts))
    )


def certificate(room: Room) -> str:
    """The page that says what the class did, who took part, and whether the weights are the golden ones."""
    laptops = len([seat for seat in room.seats.all() if seat.steps])
    verdict = f"{room.step} steps, but {room.verdict}."
    if room.is_golden:
        verdict = f"{laptops} laptops, {room.step} steps, and the golden weights, bit for bit."
    people = "".join(
        f"<tr><th scope=row>{escape(seat.name)}</th><td>{seat.steps}</td>"
        f"<td>{', '.join(map(str, seat.generations)) or '–'}</td><td>{_agrees(room, seat)}</td></tr>"
        for seat in room.seats.all()
    )
    generations = "".join(
        f"<tr><th scope=row>{one.number}</th><td>{one.first + 1}–{one.last}</td><td>{len(one.names)}</td>"
        f"<td>{escape(one.why)}</td><td>{escape(', '.join(one.names))}</td></tr>"
        for one in room.past
        if one.last > one.first
    )
    races = "".join(f"<li>{escape(race.in_words())}</li>" for race in room.races)
    recorded = golden().get(room.step, "none recorded")
    body = f"""<h1>A class trained one model together</h1>
<p class="verdict {"good" if room.is_golden else "bad"}">{escape(verdict)}</p>
{_losses(room)}
<table><thead><tr><th>laptop</th><th>steps</th><th>generations</th><th>its weights</th></tr></thead><tbody>{people}</tbody></table>
<table><thead><tr><th>generation</th><th>steps</th><th>laptops</th><th>opened because</th><th>in it</th></tr></thead>
<tbody>{generations}</tbody></table>
{f"<ul>{races}</ul>" if races else ""}
<dl><dt>weights of the class</dt><dd><code>{room.state.digest}</code></dd>
<dt>golden weights of one laptop alone</dt><dd><code>{recorded}</code> after step {room.step}, recorded in lesson 4</dd>
<dt>made with</dt><dd>minitorch_dist {__version__}, Python {platform.python_version()}, numpy {np.__version__}</dd></dl>"""
    return TEMPLATE.read_text("utf-8").format(title="Certificate of a class", refresh="", body=body)


def _agrees(room: Room, seat: Seat) -> str:
    if not seat.digest:
        return "was not there at the end"
    sign = "✔" if seat.digest == room.state.digest else "✘"
    return f"{sign} <code>{escape(seat.digest)}</code>"


def _seat(room: Room, seat: Seat) -> str:
    rank = ""
    if room.phase not in ("lobby", GATHERING) and seat in room.generation.members:
        rank = f"rank {room.generation.members.index(seat)}"
    said = rank if seat.state == HERE else seat.state
    kind = "here" if seat.state == HERE and not seat.is_stuck else "gone"
    return f'<li class="{kind}"><b>{escape(seat.name)}</b><small>{escape(said)}</small></li>'


def _progress(room: Room) -> str:
    if not room.step:
        return ""
    said = view.golden(room)
    share = 100 * room.step / room.plan.steps
    bar = f'<div class=bar><div style="width:{share:.1f}%"></div></div>'
    return f'{bar}<p class="{"bad" if said[:1] == "✘" else "good"}">{said}</p>'


def _race(room: Room) -> str:
    lines = view.race(room)
    return f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""


def _losses(room: Room) -> str:
    """The loss step by step, and a line where a generation ended."""
    losses = [loss for _, loss in room.losses]
    if len(losses) < 2:
        return ""
    highest = max([loss for loss in losses if 0 <= loss < 1e6], default=1.0) or 1.0
    step = WIDTH / max(room.plan.steps - 1, 1)
    points = " ".join(
        f"{at * step:.1f},{HEIGHT - HEIGHT * min(max(loss / highest, 0), 1):.1f}" for at, loss in enumerate(losses)
    )
    ends = [at for at in range(1, len(losses)) if room.losses[at][0] != room.losses[at - 1][0]]
    lines = "".join(f'<line x1="{at * step:.1f}" x2="{at * step:.1f}" y1="0" y2="{HEIGHT}"/>' for at in ends)
    return (
        f'<figure><svg class=loss viewBox="0 -4 {WIDTH} {HEIGHT + 8}" width="100%" role="img" aria-label="the loss">{lines}'
        f'<polyline points="{points}"/></svg><figcaption>The loss, now {losses[-1]:.4f}; a line where a generation ended'
        "</figcaption></figure>"
    )
