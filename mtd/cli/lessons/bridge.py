"""`mtd bridge 13`: the same in PyTorch, and where it leads. `--run` runs it here, `--run torch` in torch.

`--real` trains real PyTorch with the learner's own functions (see `course.real_bridge`).
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path

from mtd.cli.lessons import report
from mtd.cli.lessons.commands import here, say_moved
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import bridging, real_bridge
from mtd.course.lesson import BRIDGE, Lesson, LessonError
from transports import keeper

OURS, TORCH = "ours", "torch"
RUNNERS = {OURS: "minitorch_dist.distributed.run", TORCH: "torch.distributed.run"}


def configure(parser: Parser) -> None:
    parser.takes("lesson?  13, ring or 13_ring (the one where you are)")
    parser.add_argument(
        "--run",
        dest="by",
        nargs="?",
        const=OURS,
        choices=[*RUNNERS],
        help="run it on three ranks: here (ours), or in torch",
    )
    parser.takes("--real  train real PyTorch with your functions of this lesson: of 11, 13, 14 and 21")
    parser.excludes("--real", "--run")
    parser.set_defaults(run=run, epilog="mtd bridge 13 --real")


def run(options: argparse.Namespace) -> int:
    page = Page()
    lesson = here(options.lesson)
    if lesson is None:
        raise LessonError("which lesson? For example: mtd bridge 13. There is no course here, and mtd init makes one")
    say_moved(page, lesson, options.lesson)
    if options.real:
        return trained_for_real(page, lesson)
    text = bridging.text_of(lesson)
    if options.by is not None:
        return started(text, options.by)
    report.heading(page, lesson)
    page.say()
    show(page, lesson)
    return 0


def trained_for_real(page: Page, lesson: Lesson) -> int:
    """Real PyTorch trains by the learner's functions; its exit status."""
    report.heading(page, lesson)
    status = 0
    for trained in real_bridge.train(lesson):
        page.say()
        page.prose(trained.about)
        page.say()
        for line in trained.table:
            page.say(line, indent=2)
        page.say()
        page.prose(trained.sentence)
        if trained.outcome.picture:
            page.say()
            page.say("The last of your messages in one step, in virtual time:")
            page.say()
            for line in trained.outcome.picture:
                page.say(line)
        status = status or int(not trained.is_right)
    return status


def show(page: Page, lesson: Lesson) -> None:
    page.prose(bridging.page(lesson))
    page.say()
    command = f"mtd bridge {lesson.number} --run"
    page.tell("Run it with this library: ", (command, "bold"))
    page.tell("in PyTorch:               ", (f"{command} torch", "bold"))
    if lesson.number in real_bridge.PARTS:
        page.tell("Train real PyTorch with your functions: ", (f"mtd bridge {lesson.number} --real", "bold"))


def started(text: str, by: str) -> int:
    """Run it on three ranks, as torchrun does; its exit status."""
    if by == TORCH and importlib.util.find_spec("torch") is None:
        raise LessonError("torch is not installed: pip install torch==2.13.0")
    with keeper.temporary_folder("mtd-bridge-") as folder:
        file = Path(folder) / BRIDGE
        file.write_text(text if by == TORCH else bridging.ours(text), encoding="utf-8")
        words = ["--standalone", "--nproc-per-node", str(bridging.SIZE), str(file)]
        return subprocess.call([sys.executable, "-m", RUNNERS[by], *words])
