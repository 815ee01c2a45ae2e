"""`mtd bench plan`: training steps of this machine, first predicted by the simulator, then measured.

    what the ranks do at once                                        what is learned       by
    products, copies, small operations                               a device              `mtd calibrate cpu`
    ping-pong over tcp and over a file, additions, shifts            a network             `mtd calibrate tcp://`
    products while a collective is under way                         contention            `plan_overlap`
    DDP's and FSDP's step of a tiny model                            a launch, with Python `plan_launch`
    ──► the step in virtual time, on arrays without numbers ──► predicted, and an interval
    the same step in processes ──► measured

The code of a step is one and the same in both (`train_worker.step_of`). Nothing of a measured step enters
its prediction. The interval comes from the measurements: some of them are drawn anew, and the step is simulated again.

Each turn also times a product that is always the same. Turns in which it is slow had to share the machine with other
work, and do not count (`quiet`).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.cli.bench import plan_overlap
from minitorch_dist.cli.bench.comm import duration
from minitorch_dist.cli.bench.comm_worlds import BenchWorld
from minitorch_dist.cli.bench.train_worker import BATCHES, GAUGE, TINY, step_of
from minitorch_dist.launching import launch
from minitorch_dist.sim import calibration, device_calibration
from minitorch_dist.sim.device import Device
from transports.clock import PICO
from transports.virtual.network import Network
from transports.virtual.topology import Link, Uniform

WORKER = "minitorch_dist.cli.bench.train_worker"
MODELS = ("mlp", "wide")
WAYS = ("ddp", "fsdp")
WIRES = ("tcp", "file")
TURN = 0.3  # seconds that one measurement takes
SLOWER = 1.15  # a turn counts if its product took at most so many times the fastest one's
FEWEST = 3  # turns that count at least
DRAWS = 12  # predictions that an interval is made of
LEVEL = 0.9  # of all turns should fall inside
SECANTS = 4  # steps until the launch is found: a slower one hides messages, so time is no line


class PlanTurn(NamedTuple):
    """Seconds: of the product that is always the same, and of a step."""

    gauge: float
    step: float


class Cell(NamedTuple):
    """Seconds of one step: predicted, and measured in the turns that count."""

    model: str
    way: str
    wire: str
    predicted: float
    low: float
    high: float
    turns: Sequence[float]

    @property
    def measured(self) -> float:
        return statistics.median(self.turns)

    @property
    def off(self) -> float:
        """By which part of the measured time the prediction is too long."""
        return self.predicted / self.measured - 1

    @property
    def is_inside(self) -> bool:
        return self.low <= self.measured <= self.high


def main() -> int:
    parser = argparse.ArgumentParser(prog="mtd bench plan")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--only", action="append", choices=[*BATCHES], default=[],
                        help="only this model (repeatable); mlp and wide by default")  # fmt: skip
    parser.add_argument("--pairs", type=int, default=9, help="turns of each measurement (9)")
    options = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory() as folder:
        devices = launch(device_calibration.measure, options.ranks, f"file://{folder}/device")
        device = device_calibration.mean(devices)
        rates = ", ".join(f"{name} {rate / 1e9:.3g} GFLOP/s" for name, rate in device.peak.items())
        console.print(
            f"each of {options.ranks} ranks: {rates}, memory {device.bandwidth / 1e9:.3g} GB/s, "
            f"{duration(device.launch / PICO)} an operation alone"
        )
        machine = PlanMachine(devices, options.ranks, options.pairs, Path(folder), console)
        cells = [cell for wire in WIRES for cell in _over(wire, machine, options.only or [*MODELS])]
    console.print(table(cells))
    near = [sum(abs(cell.off) <= share for cell in cells) for share in (0.15, 0.3)]
    inside = sum(cell.is_inside for cell in cells)
    console.print(
        f"of {len(cells)} predictions {near[1]} are within 30 %, {near[0]} within 15 %; {inside} measured steps are in "
        f"their interval"
    )
    slowest = max(machine.gauges) / min(machine.gauges)
    console.print(
        f"A product that is always the same took up to {slowest:.2f} times its shortest time. Turns above "
        f"{SLOWER} do not count: {machine.left_out} of {len(machine.gauges)} were left out."
    )
    return 0


def table(cells: Sequence[Cell]) -> Table:
    found = Table(title="one training step, predicted and then measured", box=SIMPLE)
    headings = ("model", "way", "over", "predicted", "interval", "measured", "off", "")
    for heading in headings:
        found.add_column(heading, justify="left" if heading in Cell._fields[:2] else "right")
    for cell in cells:
        found.add_row(
            cell.model, cell.way, cell.wire, duration(cell.predicted),
            f"{duration(cell.low)} to {duration(cell.high)}", duration(cell.measured),
            f"{100 * cell.off:+.0f} %", "✓" if abs(cell.off) <= 0.3 else "✗",
        )  # fmt: skip
    return found


class PlanMachine:
    """This machine: how it is measured, and how quiet it was."""

    def __init__(
        self, devices: Sequence[Device], ranks: int, pairs: int, folder: Path, console: Console
    ) -> None:
        self.devices, self.ranks, self.pairs, self.folder = devices, ranks, pairs, folder
        self.console = console
        self.gauges: list[float] = []
        self.left_out = 0

    def turns(self, world: BenchWorld, model: str, way: str) -> list[float]:
        """Seconds of a step in several turns, without those that other work made slow."""
        once = world.tell(f"{model} {way} 2")
        repeats = max(1, min(200, round(TURN / once)))
        found = [
            PlanTurn(world.tell(f"{GAUGE} {way} 20"), world.tell(f"{model} {way} {repeats}"))
            for _ in range(self.pairs)
        ]
        self.gauges += [turn.gauge for turn in found]
        kept = quiet(found, min(self.gauges))
        self.left_out += len(found) - len(kept)
        return kept

    def __repr__(self) -> str:
        return f"<PlanMachine of {self.ranks} ranks>"


def quiet(turns: Sequence[PlanTurn], fastest: float) -> list[float]:
    """The steps of the turns in which nothing else slowed the machine; the quietest ones if these are too few."""
    ordered = sorted(turns)
    near = sum(turn.gauge <= SLOWER * fastest for turn in ordered)
    return [turn.step for turn in ordered[: max(near, FEWEST)]]


def _over(wire: str, machine: PlanMachine, models: Sequence[str]) -> list[Cell]:
    folder, ranks = machine.folder, machine.ranks
    address = "tcp://" if wire == "tcp" else f"file://{folder}/links"
    links = calibration.measure(address)
    world = BenchWorld(wire, ranks, folder, WORKER)
    try:
        found = {}
        for way in WAYS:
            overlap = plan_overlap.measure(address.replace("links", f"overlap-{way}"), ranks)
            tiny = machine.turns(world, TINY, way)
            known = Known(links, machine.devices, overlap, tiny, way, ranks)
            machine.console.print(
                f"{way} over {wire}: {duration(known.device.launch / PICO)} an operation with Python around it, "
                f"products take {known.device.contention:.2f} times as long beside a collective"
            )
            for model in models:
                found[model, way] = known.predict(model)
        return [
            Cell(model, way, wire, *found[model, way], machine.turns(world, model, way))
            for model, way in found
        ]
    finally:
        world.close()


class Known:
    """All that one wrapper's prediction over one transport is made from. `tiny`: seconds of steps of the tiny model."""

    def __init__(
        self, links: calibration.Fit, devices: Sequence[Device], overlap: Sequence[float],
        tiny: Sequence[float], way: str, ranks: int,
    ) -> None:  # fmt: skip
        self.links, self.devices, self.overlap, self.tiny = links, devices, overlap, tiny
        self.way, self.ranks = way, ranks
        middle = device_calibration.mean(devices)
        middle = replace(middle, contention=max(1.0, statistics.median(overlap)))
        self.slope = 1.0  # seconds of a tiny step for a picosecond of a launch; found by `_fitted`
        self.device = self._fitted(middle, links, statistics.median(tiny), SECANTS)

    def _fitted(self, device: Device, links: calibration.Fit, tiny: float, steps: int) -> Device:
        """Python's time for an operation is the launch with which the tiny model takes as long as it did."""
        before: tuple[int, float] | None = None
        for _ in range(steps):
            took = predicted(TINY, self.way, self.ranks, links, device)
            if before is None and steps > 1:
                before, launch = (device.launch, took), 2 * device.launch + 1000
            else:
                if before is not None and device.launch != before[0]:
                    self.slope = max((took - before[1]) / (device.launch - before[0]), 1e-15)
                    before = device.launch, took
                launch = max(0, round(device.launch + (tiny - took) / self.slope))
            device = replace(device, launch=launch)
        return device

    def drawn(self, chance: np.random.Generator) -> tuple[calibration.Fit, Device]:
        """The same from some of the measurements."""
        links = self.links
        if links.draws:
            links = links._replace(costs=links.draws[int(chance.integers(len(links.draws)))])
        found = self.devices[int(chance.integers(len(self.devices)))]
        found = replace(
            found,
            launch=self.device.launch,
            contention=max(1.0, float(chance.choice(self.overlap))),
        )
        return links, self._fitted(found, links, float(chance.choice(self.tiny)), 1)

    def predict(self, model: str) -> tuple[float, float, float]:
        """Seconds of a step, and between which it should fall."""
        middle = predicted(model, self.way, self.ranks, self.links, self.device)
        chance = np.random.default_rng(0)
        some = [self.drawn(chance) for _ in range(DRAWS)]
        drawn = [predicted(model, self.way, self.ranks, *each) for each in some]
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        scatter = np.quantile(np.array(self.tiny) / statistics.median(self.tiny), [0.05, 0.95])
        return middle, min(middle, float(low * scatter[0])), max(middle, float(high * scatter[1]))

    def __repr__(self) -> str:
        return f"<Known of {self.way} on {self.ranks} ranks>"


def predicted(model: str, way: str, ranks: int, links: calibration.Fit, device: Device) -> float:
    """Seconds of the third step in virtual time. Ranks that send at once share the cores that there are."""
    costs = links.costs
    busy = max(1.0, ranks / costs.cores)
    per_byte = Fraction(busy * costs.per_byte).limit_denominator(1000)
    adding = busy * costs.per_added
    report = sim.run(
        virtual_steps, ranks, (model, way), net=Network(Uniform(Link(round(busy * costs.latency), per_byte))),
        adding=f"{PICO / adding:.0f}B/s" if adding else None, device=device, shapes=True,
    )  # fmt: skip
    return max(times[-1] for times in report.results)


def virtual_steps(model: str, way: str, steps: int = 3) -> list[float]:
    """On each rank: the virtual seconds of each step. The first one still prepares its calls."""
    step, times = step_of(torch, model, way), []
    for _ in range(steps):
        dist.barrier()
        began = sim.now()
        step()
        times.append(sim.now() - began)
    return times


if __name__ == "__main__":
    sys.exit(main())
