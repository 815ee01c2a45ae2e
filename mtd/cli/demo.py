"""`mtd demo`: four ranks learn to read digits that are drawn on the fly, on two kinds of wire.

First the ranks are threads of this process, then processes that talk over TCP: the same function, and
the same weights in the end. Then three steps of it in virtual time, as a picture.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console

from minitorch_dist import sim
from minitorch_dist.datasets.digits import SyntheticDigits
from minitorch_dist.launching import launch
from minitorch_dist.launching.ranks import RankFailed
from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.pictures.terminal import painted
from mtd.cli import demo_training, plots
from mtd.cli.demo_training import DemoPlan, DemoResult
from mtd.cli.parser import Parser
from mtd.pages import page as pages, whole_files
from mtd.refusals import CannotDo, refusing
from transports import keeper

SHOWN = 5  # pictures of misread digits, which are 70 columns
WORLDS = {"queue://": "threads, queues", "tcp://": "processes, TCP"}
NET = "sim://?latency=20us&rate=10Gb/s"


def configure(parser: Parser) -> None:
    parser.takes("""
        --ranks RANKS: positive = 4              how many share the work (%(default)s)
        --digits|--size N: positive = 6000             digits to learn from (%(default)s)
        --test-size TEST_SIZE: positive = 2000   digits to be examined on (%(default)s)
        --seed SEED: int = 0                     one seed is one run (%(default)s)
        --out|--picture PAGE: path = mtd-demo.html  where the page goes (%(default)s)
        --no-open                                do not open the page in a browser
    """)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    console = Console(highlight=False)
    test = demo_training.digits(False, options.test_size, options.seed)
    with refusing():  # before a minute of training
        whole_files.check(options.out, whole_files.PAGE, "page")
    who = "1 rank learns" if options.ranks == 1 else f"{options.ranks} ranks learn"
    console.print(
        f"{who} to read {options.digits:,} digits with a ConvNet. Each "
        "takes its share of every batch; DistributedDataParallel averages their gradients.\n"
    )
    found = {address: _train(options, address) for address in WORLDS}
    first, second = (trained for trained, _ in found.values())
    for address, (_, seconds) in found.items():
        console.print(f"  {WORLDS[address]:<16} {seconds:.1f} s")
    console.print(f"  {_compared(first, second)}\n")

    for line in plots.curve(first.losses, label="loss of rank 0, step by step", height=6):
        console.print(line, markup=False)
    wrong = demo_training.examine(first.weights, test)
    share = 1 - len(wrong) / len(test)
    console.print(f"\n{share:.1%} of {len(test):,} unseen digits read rightly.")
    if wrong:
        console.print(f"The first {min(len(wrong), SHOWN)} of the {len(wrong)} it got wrong:\n")
        for line in _page(test, wrong):
            console.print(line, markup=False)
    _draw(console, options)
    return 0


def _train(options: argparse.Namespace, address: str) -> tuple[DemoResult, float]:
    plan = DemoPlan(options.digits, options.seed, f"{WORLDS[address]:<16}")
    begun = perf_counter()
    try:
        trained = launch(demo_training.train, options.ranks, address, args=(plan,))[0]
    except RankFailed as error:  # it was killed, so there is no traceback that says more
        raise CannotDo(str(error)) from error
    assert trained is not None, "rank 0 returns something"
    return trained, perf_counter() - begun


def _compared(one: DemoResult, other: DemoResult) -> str:
    """Whether both worlds ended with the same weights."""
    pairs = [(one.weights[name], other.weights[name]) for name in one.weights]
    if all(a.tobytes() == b.tobytes() for a, b in pairs):
        count = sum(a.size for a, _ in pairs)
        return f"all {count:,} weights are the same in both, bit for bit"
    largest = max(float(np.abs(a - b).max()) for a, b in pairs)
    return f"their weights differ by {largest:.1e} at most: numpy's BLAS rounds otherwise in other processes"


def _draw(console: Console, options: argparse.Namespace) -> None:
    """Three steps of the same function in virtual time, in the terminal and as a page."""
    plan = DemoPlan(3 * demo_training.BATCH, options.seed, "")
    with keeper.temporary_folder("mtd-") as folder:
        journal = folder / "demo.mtd"
        report = sim.run(demo_training.train, options.ranks, (plan,), net=NET, journal=journal)
        scene = replace(report.journal.scene(), title=f"{options.ranks} ranks, three steps")
        console.print("\nThe last average of gradients in virtual time, on a network with 20 µs and 10 Gb/s:\n")
        console.print(painted(_last_average(scene, min(console.width, 80)), scene, console))
        whole_files.write(options.out, pages.draw(report.journal.scene()))
    path = options.out.resolve()
    may_show = not options.no_open and sys.stdout.isatty() and _has_display()
    is_shown = may_show and webbrowser.open(path.as_uri())
    where = "is open in your browser" if is_shown else "(open it in a browser)"
    console.print(f"\nThe same as a page you can step through {where}: {path}", soft_wrap=True)
    console.print(f"Next: `{_ourselves()}` opens the course; its first lesson takes two minutes.", soft_wrap=True)


def _last_average(scene: Scene, width: int) -> spacetime.Picture:
    """Of three steps' hundred and more messages those of the last all_reduce. With one rank there is none."""
    of = [each.text.partition(" of group ")[0].rpartition(" in ")[2] for each in scene.arrows]
    last = max(
        (name for each, name in zip(scene.arrows, of, strict=True) if each.name == "all_reduce"),
        key=of.index,
        default="",
    )
    arrows = [each for each, name in zip(scene.arrows, of, strict=True) if name == last]
    if not arrows:
        return spacetime.draw(scene, width)
    window = min(each.departed for each in arrows), max(each.arrived for each in arrows)
    title = f"{scene.title}: {last}"
    return spacetime.draw(replace(scene, arrows=arrows, title=title), width, window=window)


def _ourselves() -> str:
    """How the command is called from here: `make demo` has put it where no shell looks."""
    if shutil.which("mtd") or Path(sys.argv[0]).name != "mtd":
        return "mtd"
    return os.path.relpath(sys.argv[0])


def _has_display() -> bool:
    displays = {"DISPLAY", "WAYLAND_DISPLAY"}
    return sys.platform in ("darwin", "win32") or not displays.isdisjoint(os.environ)


def _page(data: SyntheticDigits, wrong: list[tuple[int, int]]) -> list[str]:
    """The misread digits as text, each with what it is and what it was taken for."""
    pictures = []
    for index, answer in wrong[:SHOWN]:
        caption = f"{int(data.targets.array[index])} read as {answer}"
        pictures.append([*plots.image(data.data.array[index]), f"{caption:^12}"])
    return [*plots.side_by_side(pictures), ""]
