"""`mtd` without a command: the course where you left it, or how to begin it."""

from __future__ import annotations

from pathlib import Path

from minitorch_dist.pictures.terminal import sayable
from mtd.cli import keyboard
from mtd.cli.lessons import init, watch
from mtd.cli.lessons.commands import in_a_folder, opened
from mtd.cli.page import Page
from mtd.course.chapters.chapter import of_lesson
from mtd.course.progress import Progress
from mtd.course.sizes import GAP
from mtd.course.source import missing
from mtd.course.workspace import Workspace, WorkspaceError, make


def run() -> int:
    page = Page()
    with in_a_folder():
        try:
            workspace, progress = opened(page)
        except WorkspaceError:
            made = _offer(page)
            if made is None:
                return 0
            workspace, progress = made, made.progress()
        if keyboard.is_there():
            return watch.watch(workspace)
        _where(page, workspace, progress)
    return 0


def _offer(page: Page) -> Workspace | None:
    """Ask whether a folder is to be made; where nobody can be asked, say how."""
    page.say(
        "PyTorch's distributed stack from scratch, as a course: numbered lessons with blanks that you fill, each checked on your "
        "machine. Five of them make an evening, which ends with a stack of your own that loses a rank and goes on."
    )
    page.say()
    if not keyboard.is_there():
        page.tell("Make a folder for it:  ", ("mtd init course", "bold"))
        page.tell("All commands:          ", ("mtd help", "bold"))
        return None
    folder = Path.cwd() / "course"
    page.tell("Your lessons would be in ", (str(folder), "bold"), ".")
    try:
        said = input(sayable("Enter makes it; or type another folder, or n: ", page.console)).strip()
    except EOFError:
        said = "n"
    if said.lower() in ("n", "no", "q"):
        course, all_of_them = ("mtd init course", "bold"), ("mtd help", "bold")
        page.tell("When you like: ", course, ".  All commands: ", all_of_them)
        return None
    workspace, made = make(Path(said) if said.lower() not in ("", "y", "yes") else folder)
    init.tell(page, workspace, made)
    return workspace


def _where(page: Page, workspace: Workspace, progress: Progress) -> None:
    """For a terminal in which nothing moves: where one is, and what to do next."""
    lesson = workspace.present(progress)
    done = len(progress.passed)
    page.say(f"{done} of {len(workspace.lessons())} passed, in {workspace.folder}")
    page.say()
    page.tell((f"{lesson.label} {lesson.title}", "bold"), f"  {lesson.question}")
    name, number = workspace.file(lesson).relative_to(workspace.folder), lesson.number
    if workspace.is_current(lesson, progress):
        following = workspace.following(lesson)
        page.say(f"{name} passes.")
        steps = [f"mtd text {following.number}"] if following else []
        steps += [f"mtd contest {number}"] if of_lesson(lesson) else []
        steps += [f"mtd solution {number}", "mtd list"]
    else:
        blanks = len(missing(workspace.text_of(lesson), number))
        size = progress.size_of(number)
        chosen = "" if size == GAP else f" (size {size})"
        page.say(f"{name}: {f'{blanks} to be written' if blanks else 'has not passed yet'}{chosen}.")
        steps = [f"mtd text {number}", f"mtd check {number}", f"mtd hint {number}", "mtd list"]
    page.say()
    page.tell("Next: ", ("   ".join(steps), "bold"))
    if not keyboard.gives_keys():
        page.tell(
            "Keys one by one cannot be read here (that takes a Unix terminal). In their place ",
            (f"mtd check {number} --watch", "bold"),
            " checks whenever you save.",
        )
