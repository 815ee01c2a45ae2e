"""`mtd bench plan`: training steps of this machine, first predicted by the simulator, then measured.

    what the ranks do at once                        what is learned                          by
    products of layers, copies, small operations     a device                                 `plan_model.measure_device`
    collectives of other sizes                       α, β and γ of tcp or of a file           `plan_model.measure_wire`
    a step of a tiny model                           Python's time for an operation           `plan_model.launch_of`
    steps of thin models, with a wrapper and without what a wrapper copies for a byte         `plan_model.fit_wrapper`
    ──► the step in virtual time, on arrays without numbers ──► predicted
    the same step in processes ──► measured

The code of a step is one and the same in both (`steps.ready`). Nothing of a measured step enters
its prediction. Turns in which other work had a part of the processors do not count (`plan_quiet`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from minitorch_dist.launching import launch
from minitorch_dist.sim.device import Device
from mtd import device_calibration
from mtd.cli import page
from mtd.cli.bench import plan_model
from mtd.cli.bench.plan_model import WrapperCosts
from mtd.cli.bench.plan_quiet import FEWEST, OTHERS, OtherLoad, PlanTurn, quietest, typical
from mtd.cli.bench.steps import BATCHES, THIN, TINY
from mtd.cli.bench.turns import duration
from mtd.cli.bench.worlds import BenchWorld, opened
from transports import keeper
from transports.clock import PICO

HEAD = "model", "way", "over", "predicted", "measured", "off", "within"
MODELS = ("mlp", "wide")
WAYS = ("ddp", "fsdp")
WIRES = ("tcp", "file")
TURN = 0.3  # seconds that one measurement takes
MOST = 3  # times as many turns, where other work disturbs


class Cell(NamedTuple):
    """Seconds of one step."""

    model: str
    way: str
    wire: str
    predicted: float
    measured: float

    @property
    def off(self) -> float:
        """By which part of the measured time the prediction is too long."""
        return self.predicted / self.measured - 1


USAGE = f"""
    --ranks RANKS: positive = 2        how many (%(default)s)
    --only {{{",".join(BATCHES)}}}...  only this model (repeatable); mlp and wide by default
    --rounds|--turns N: positive = 7        of each measurement (7)
"""


def run(options: argparse.Namespace) -> int:
    console = Console(highlight=False, soft_wrap=True)
    with keeper.temporary_folder("mtd-") as folder:
        address = f"file://{folder}/device"
        devices = quietest(lambda: launch(plan_model.measure_device, options.ranks, address))
        device = device_calibration.mean(devices)
        rates = ", ".join(f"{name} {rate / 1e9:.3g} GFLOP/s" for name, rate in device.peak.items())
        console.print(
            f"each of {options.ranks} ranks: {rates}, memory {device.bandwidth / 1e9:.3g} GB/s, "
            f"{duration(device.launch / PICO)} an operation alone"
        )
        machine = PlanMachine(device, options.ranks, options.rounds, Path(folder), console)
        models = options.only or [*MODELS]
        cells = [cell for wire in WIRES for cell in machine.cells(wire, models)]
    console.print(page.fitting(table(cells), console))
    near = [sum(abs(cell.off) <= share for cell in cells) for share in (0.15, 0.3)]
    console.print(f"of {len(cells)} predictions {near[1]} are within 30 %, {near[0]} within 15 %")
    quiet = sum(turn.others <= OTHERS for turn in machine.all_turns)
    console.print(
        f"Other work had at most {OTHERS:.0%} of the processors in {quiet} of {len(machine.all_turns)} turns. "
        f"The others do not count, unless a step had fewer than {FEWEST} quiet turns."
    )
    return 0


def table(cells: Sequence[Cell]) -> Table:
    found = page.table(*HEAD, left=HEAD[:2], title="one training step, predicted and then measured")
    for cell in cells:
        near = next((f"{share} %" for share in (15, 30) if abs(cell.off) <= share / 100), "✗")
        times = duration(cell.predicted), duration(cell.measured), f"{100 * cell.off:+.0f} %"
        found.add_row(cell.model, cell.way, cell.wire, *times, near)
    return found


class PlanMachine:
    """This machine: it is measured, and steps on it are predicted and measured."""

    def __init__(self, device: Device, ranks: int, turns: int, folder: Path, console: Console) -> None:
        self.device, self.ranks, self.turns, self.folder = device, ranks, turns, folder
        self.console = console
        self.all_turns: list[PlanTurn] = []
        self.plain: dict[str, float] = {}  # seconds of steps without a wrapper

    def cells(self, kind: str, models: Sequence[str]) -> list[Cell]:
        """Of one transport."""
        address = "tcp://" if kind == "tcp" else f"file://{self.folder}/wire"
        wire = quietest(lambda: plan_model.measure_wire(address, self.ranks))
        self.console.print(
            f"{kind}: {duration(wire.latency)} a message, {1e9 * wire.per_byte:.3g} s for a GB, "
            f"{1e9 * wire.per_added:.3g} s to add it"
        )
        with opened([BenchWorld(kind, self.ranks, self.folder)]) as (world,):
            self.plain = self.plain or self._steps(world, [TINY, *THIN], "plain")
            found = {}
            for way in WAYS:
                steps = self._steps(world, [TINY, *THIN], way)
                wrapper = plan_model.fit_wrapper(way, self.ranks, wire, self.device, steps, self.plain)
                self.console.print(f"{way} over {kind}: {about(wrapper)}")
                for model in models:
                    costs = wire, self.device, wrapper
                    found[model, way] = plan_model.predicted(model, way, self.ranks, *costs)
            measured = {way: self._steps(world, models, way) for way in WAYS}
            cells = found.items()
            return [Cell(model, way, kind, span, measured[way][model]) for (model, way), span in cells]

    def _steps(self, world: BenchWorld, models: Sequence[str], way: str) -> dict[str, float]:
        """Seconds of a step of each model. The models take turns, more of them while other work disturbs."""
        once = {model: world.tell(f"{model} {way} 2") for model in models}
        repeats = {model: max(1, min(400, round(TURN / seconds))) for model, seconds in once.items()}
        turns: dict[str, list[PlanTurn]] = {model: [] for model in models}
        for number in range(MOST * self.turns):
            for model, found in turns.items():
                if number < self.turns or sum(each.others <= OTHERS for each in found) < FEWEST:
                    load = OtherLoad([process.pid for process in world.processes])
                    step = world.tell(f"{model} {way} {repeats[model]}")
                    found.append(PlanTurn(load.share(), step))
        self.all_turns += [turn for found in turns.values() for turn in found]
        return {model: typical(found) for model, found in turns.items()}

    def __repr__(self) -> str:
        return f"<PlanMachine of {self.ranks} ranks>"


def about(wrapper: WrapperCosts) -> str:
    """In words."""
    copying = ", ".join(
        f"{1e9 * each:.3g} s for a GB in layers of {nbytes / 1e6:.3g} MB" for nbytes, each in wrapper.copying.items()
    )
    return f"{duration(wrapper.launch)} an operation with Python around it; copying takes {copying}"
