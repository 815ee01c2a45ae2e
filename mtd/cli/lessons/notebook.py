"""`mtd notebook 13`: the lesson as a notebook in your folder, whose cells are your file."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from mtd.cli.lessons.commands import takes_lesson
from mtd.cli.lessons.solution import refuse_before_passing
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import notebook_copies
from mtd.course.lesson import Lesson, LessonError
from mtd.course.workspace import Workspace


def configure(parser: Parser) -> None:
    parser.takes("""
        --solution  ours, once yours passes
        --no-open   only write it, and say where it is
    """)
    takes_lesson(parser, "notebook", run)


def run(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    if options.solution:
        refuse_before_passing(workspace, lesson)
        path = notebook_copies.solution(workspace, lesson)
    else:
        path = notebook_copies.to_work_on(workspace, lesson)
    page.say(f"{path} is the notebook of {lesson}.")
    return 0 if options.no_open else _open(path)


def _open(path: Path) -> int:
    """JupyterLab in the browser, until it is ended."""
    if find_spec("jupyterlab") is None:
        raise LessonError(
            "JupyterLab is not installed: pip install jupyterlab matplotlib. An editor that shows notebooks opens the file, too"
        )
    with subprocess.Popen([sys.executable, "-m", "jupyterlab", str(path)]) as lab:
        while True:
            try:
                return lab.wait()
            except KeyboardInterrupt:  # JupyterLab has it, too: it asks, and ends its kernels
                continue
