"""`mtd bench plan`: training steps of this machine, first predicted by the simulator, then measured.

    the ranks, at once ──► products, copies, small operations ──► a device           `mtd calibrate cpu`
    ping-pong over tcp and over a file ──► latency, bandwidth, additions ──► a network    `mtd calibrate tcp://`
    both ──► the step in virtual time, on arrays without numbers ──► predicted
    the same step in processes ──► measured

The code of a step is one and the same in both (`train_worker.step_of`). Nothing of a measured step enters
its prediction.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.cli.bench.comm import duration
from minitorch_dist.cli.bench.comm_worlds import BenchWorld
from minitorch_dist.cli.bench.train_worker import BATCHES, step_of
from minitorch_dist.launching import launch
from minitorch_dist.sim import calibration, device_calibration
from minitorch_dist.sim.device import Device
from transports.clock import PICO

WORKER = "minitorch_dist.cli.bench.train_worker"
MODELS = ("mlp", "wide")
WAYS = ("ddp", "fsdp")
WIRES = ("tcp", "file")
TURN = 0.3  # seconds that one measurement takes


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="mtd bench plan")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--only", action="append", choices=[*BATCHES], default=[],
                        help="only this model (repeatable); mlp and wide by default")  # fmt: skip
    parser.add_argument("--pairs", type=int, default=9, help="turns of each measurement (9)")
    options = parser.parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        device = calibrated(options.ranks, Path(folder))
        rates = ", ".join(f"{name} {rate / 1e9:.3g} GFLOP/s" for name, rate in device.peak.items())
        console.print(
            f"each of {options.ranks} ranks: {rates}, memory {device.bandwidth / 1e9:.3g} GB/s, "
            f"{duration(device.launch / PICO)} an operation"
        )
        cells = [
            cell
            for wire in WIRES
            for cell in _over(
                wire, device, options.only or MODELS, options.ranks, options.pairs, Path(folder)
            )
        ]
    table = Table(title="one training step, predicted and then measured", box=SIMPLE)
    for heading in ("model", "wrapper", "transport", "predicted", "measured", "off"):
        table.add_column(heading, justify="left" if heading in Cell._fields[:2] else "right")
    for cell in cells:
        table.add_row(
            cell.model, cell.way, cell.wire, duration(cell.predicted), duration(cell.measured),
            f"{100 * cell.off:+.0f} %",
        )  # fmt: skip
    console.print(table)
    return 0


def calibrated(ranks: int, folder: Path) -> Device:
    """One rank's part of this machine. All ranks measure at once, as they will compute at once."""
    found = launch(device_calibration.measure, ranks, f"file://{folder}/device")
    return device_calibration.mean(found)


def _over(
    wire: str, device: Device, models: Sequence[str], ranks: int, pairs: int, folder: Path
) -> list[Cell]:
    address = "tcp://" if wire == "tcp" else f"file://{folder}/links"
    links = calibration.measure(address)
    worked = {(m, way): predicted(m, way, ranks, links, device) for m in models for way in WAYS}
    world = BenchWorld(wire, ranks, folder, WORKER)
    try:
        return [
            Cell(m, way, wire, worked[m, way], measured(world, m, way, pairs)) for m, way in worked
        ]
    finally:
        world.close()


def predicted(model: str, way: str, ranks: int, links: calibration.Fit, device: Device) -> float:
    """Seconds of the third step in virtual time."""
    adding = f"{PICO / links.costs.per_added:.0f}B/s" if links.costs.per_added else None
    report = sim.run(
        virtual_steps, ranks, (model, way), net=links.network, adding=adding, device=device,
        shapes=True,
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


def measured(world: BenchWorld, model: str, way: str, pairs: int) -> float:
    """Seconds of a step: the median of several turns."""
    once = world.tell(f"{model} {way} 2")
    repeats = max(1, min(200, round(TURN / once)))
    return statistics.median(world.tell(f"{model} {way} {repeats}") for _ in range(pairs))


if __name__ == "__main__":
    sys.exit(main())
