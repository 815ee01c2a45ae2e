"""The picture of a run in which messages get lost: each arrow is what the wire did with one of them.

A journal pairs sends and receives by their order, which is right on every transport that keeps it. Where
messages are lost, doubled and overtaken, only the simulated wire itself knows which is which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from minitorch_dist import sim
from minitorch_dist.distributed.torch_api import objects
from minitorch_dist.pictures.scene import Arrow, Moment, Scene
from minitorch_dist.sim.stage import SimulationStage
from mtd.grids.grid import Grid
from mtd.grids.grid_cells import GridMessage, GridStep
from transports.faults.plans import Fault
from transports.virtual.fault_injector import FaultInjector
from transports.virtual.medium import SimMessage

NET = "sim://?latency=100ms"  # a time that one sees beside seconds
LIMIT = 10_000.0  # seconds


def messages_scene(
    program: Callable[[], Any],
    size: int,
    faults: Sequence[Fault] = (),
    named: Callable[[Any], str] = str,
    title: str = "",
    most: int | None = None,
) -> Scene:
    """Run the program, whose ranks write messages (`sender.Sender`), and draw what became of each.

    `named` says in words what is in a message; its first word is what is told apart by colour. Of a
    run that fails, what there was until then; of a long one the first `most` messages.
    """
    arrows: list[Arrow] = []

    def draw(message: SimMessage, words: str, now: int) -> None:
        src, dst, since, kind = message.src.rank, message.dst.rank, message.ticket.since, words.partition(" ")[0]
        arrows.append(Arrow(src, dst, since, now, message.nbytes, kind, "", words, not message.is_void))

    _watched(program, size, faults, named, draw)
    arrows.sort(key=lambda arrow: (arrow.departed, arrow.arrived))
    note = ""
    if most is not None and len(arrows) > most:
        note = f"… and {len(arrows) - most} more"
        del arrows[most:]
    moments = [
        Moment(a.departed, a.source, f"{a.text}, to rank {a.to}{'' if a.is_received else ': lost'}") for a in arrows
    ]
    lanes = [f"rank {rank}" for rank in range(size)]
    return Scene(title, lanes, arrows=arrows, moments=moments, is_virtual=True, note=note)


def messages_grid(
    program: Callable[[], Any],
    faults: Sequence[Fault],
    named: Callable[[Any], str],
    cells: Callable[[], list[list[str]]],
    grid: Grid,
) -> Grid:
    """Run the program and fill an empty grid: after each message, what `cells` says then. The first step is there."""
    found: list[GridStep] = []

    def draw(message: SimMessage, words: str, now: int) -> None:
        settle()
        src, dst = message.src.rank, message.dst.rank
        fate = " ✗" if message.is_void else ""
        found.append(GridStep(f"{words}{fate}", [], [GridMessage(src, dst, f"{words}{fate}")]))

    def settle() -> None:
        """The effect of the message before is known when the next one lands."""
        if found:
            found[-1] = found[-1]._replace(cells=cells())

    _watched(program, len(grid.rows), faults, named, draw)
    settle()
    return replace(grid, steps=[*grid.steps, *found])


def _watched(
    program: Callable[[], Any],
    size: int,
    faults: Sequence[Fault],
    named: Callable[[Any], str],
    draw: Callable[[SimMessage, str, int], None],
) -> None:
    """Run the program, and tell of each message when its fate is known."""
    plan = sim.Plan(tuple(faults), reliable=False)

    def watch(stage: SimulationStage) -> None:
        # Without faults nothing happens to a message.
        injector = stage.injector or FaultInjector(stage.medium, plan, 0)

        def over(message: SimMessage) -> None:
            draw(message, named(objects.from_bytes(message.payload)), stage.clock.now())

        injector.over = over

    with suppress(Exception):  # the check says what went wrong; here it is seen
        sim.run(program, size, net=NET, faults=plan, limit=LIMIT, prepared=watch)
