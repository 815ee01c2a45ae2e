"""The course's small transformer, trained by a learner's code: `mtd show 17 --model`, and all of them, `mtd show 30 --model`."""

from __future__ import annotations

from minitorch_dist.pictures import words
from minitorch_dist.pictures.terminal import painted
from mtd.cli import bars
from mtd.cli.lessons import report
from mtd.cli.page import Page
from mtd.course import one_model
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, LessonError, all_lessons
from mtd.course.workspace import Workspace, find

CLOSE = 1e-9  # of a loss: the order of additions may make such a difference


def run(lesson: Lesson) -> int:
    workspace, screen = find(), Page()
    exam = trained(workspace, lesson)
    assert exam.step is not None
    step = exam.step
    report.heading(screen, lesson)
    screen.say(
        f"One step of a small transformer on {one_model.RANKS} ranks, by your code: {one_model.SEQUENCES} sequences of "
        f"{one_model.TOKENS} words. One rank alone needs {ms(one_model.computing())} (C)."
    )
    screen.say()
    for picture in (bars.gantt(step.scene, screen.width), bars.memory(step.scene, screen.width)):
        screen.say(painted(picture, step.scene, screen.console))
        screen.say()
    screen.tell("predicted  ", (ms(step.predicted), "bold"), f"   {step.formula}")
    screen.tell("measured   ", (ms(step.measured), "bold"), f"   in virtual time, {percent(step)} more")
    screen.say(f"loss       {step.loss:.9f}, {as_alone(exam)}")
    if others := [one for one in having(workspace) if one.number != lesson.number]:
        screen.say()
        table(screen, workspace, [*others, lesson], exam)
    return 0 if abs(step.loss - exam.alone) <= CLOSE * abs(exam.alone) else 1


def trained(workspace: Workspace, lesson: Lesson) -> Examination:
    """The run, once it is over; LessonError where there is none."""
    if not has_model(lesson):
        known = ", ".join(str(one.number) for one in all_lessons(workspace.room) if has_model(one))
        raise LessonError(f"lesson {lesson.number} trains no transformer; these do: {known}")
    exam = Examination.finished(workspace, lesson, "model")
    if exam.step is None:
        why = exam.stopped or (exam.printed.splitlines() or ["it ended without a word"])[-1]
        raise LessonError(f"the transformer cannot be trained: {why}\nmtd check {lesson.number} says more")
    return exam


def having(workspace: Workspace) -> list[Lesson]:
    """The lessons that train it and that the learner has passed."""
    done = workspace.progress().done
    return [one for one in all_lessons(workspace.room) if has_model(one) and one.number in done]


def has_model(lesson: Lesson) -> bool:
    return (lesson.folder / one_model.FILE).is_file()


def table(screen: Page, workspace: Workspace, lessons: list[Lesson], last: Examination) -> None:
    """The same step by each of these lessons."""
    screen.say(f"{'by your code of lesson':<32}{'predicted':>11}{'measured':>11}{'memory':>11}", "dim")
    for one in sorted(lessons, key=lambda one: one.number):
        exam = last if one.number == last.lesson.number else trained(workspace, one)
        assert exam.step is not None
        step, name = exam.step, f"{one.label} {one.title}"
        row = f"{ms(step.predicted):>11}{ms(step.measured):>11}{words.amount(step.peak):>11}"
        screen.say(f"{name:<32.31}{row}")


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def percent(step: one_model.ModelStep) -> str:
    return f"{100 * (step.measured / step.predicted - 1):.1f} %"


def as_alone(exam: Examination) -> str:
    assert exam.step is not None
    is_equal = abs(exam.step.loss - exam.alone) <= CLOSE * abs(exam.alone)
    return "as on one rank" if is_equal else f"but on one rank it is {exam.alone:.9f}: something is wrong"
