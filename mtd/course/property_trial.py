"""A learner's property under trial: it must accept right programs, and fail on wrong ones by its own assert.

    @given(numbers=st.lists(st.integers()))
    def property_of_sorting(sort, numbers): assert …          the program comes first, Hypothesis draws the rest

    accepts(property_of_sorting, [mine, another])               all of these are right
    rejects(property_of_sorting, [reversed_twice, unsorted])     and all of these wrong

Both raise an AssertionError in words. Each version is tried with the same EXAMPLES examples (a fixed seed, whatever the
property's own settings are, whatever stands in the learner's file or was imported before). A wrong program is rejected
by a failing assert, or by a DistError: a deadlock, or two ranks
that do not fit together. A crash of another kind is no verdict, so it does not count.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import Phase, seed, settings
from hypothesis.errors import HypothesisException

from mtd.course.lab import SAME
from mtd.course.lesson import Lesson
from mtd.course.scoring import SETTINGS
from transports.errors import DistError

EXAMPLES = 60
SEED = 1
SHOWN = 300  # characters of an example
Program = Callable[..., Any]

_generating = settings(max_examples=EXAMPLES, phases=(Phase.explicit, Phase.generate), **SAME)
_shrinking = settings(_generating, phases=(Phase.explicit, Phase.generate, Phase.shrink))


def accepts(test: Program, right: Sequence[Program], examples: int = EXAMPLES) -> None:
    """Raise unless `test` is a Hypothesis test of a program, and none of these right programs fails it."""
    _demand_a_test(test)
    failed: list[str] = []
    crashes = 0
    for program in right:
        error = _tried(test, program, settings(_shrinking, max_examples=examples), must_look=True)
        if error is not None:
            is_crash = not isinstance(error, (AssertionError, DistError))
            crashes += is_crash
            does = "crashes with" if is_crash else "fails for"
            failed.append(
                f"your property {does} {program.__name__}, a right program ({_story(program)}): {_in_words(error)}"
            )
    if crashes == len(right) > 1:
        raise AssertionError(f"{failed[0]}. It crashes with the other right programs, too")
    if len(failed) == len(right) > 1:
        raise AssertionError(
            f"{failed[0]}. The other right programs do not pass it, either: "
            "does it ask for more than was promised, or do its numbers round?"
        )
    if failed:
        raise AssertionError("\n    ".join(failed))


def rejects(test: Program, wrong: Sequence[Program], examples: int = EXAMPLES) -> None:
    """Raise unless `test` fails on each of these wrong programs by its own assert."""
    alive, crashed = survivors(test, wrong, examples)
    if len(alive) == len(wrong) > 1:
        raise AssertionError(
            f"your property passes for all {len(wrong)} wrong programs: can it fail at all?{_listed(alive)}"
        )
    if alive:
        many = "this wrong program passes" if len(alive) == 1 else "these wrong programs pass"
        raise AssertionError(f"{many} your property:{_listed(alive)}")
    if crashed:
        raise AssertionError(
            "on this wrong program your property crashes, and a crash is not a failing assert. First compare the whole "
            f"result, then use its parts:{_listed(crashed)}"
        )


def survivors(test: Program, wrong: Sequence[Program], examples: int = EXAMPLES) -> tuple[list[str], list[str]]:
    """In words: the programs that `test` lets pass, and those on which it crashes."""
    _demand_a_test(test)
    alive: list[str] = []
    crashed: list[str] = []
    for program in wrong:
        error = _tried(test, program, settings(_generating, max_examples=examples))
        told = f"{program.__name__}: {_story(program)}"
        if error is None:
            alive.append(told)
        elif not isinstance(error, (AssertionError, DistError)):
            crashed.append(f"{told} ({_in_words(error)})")
    return alive, crashed


def versions(lesson: Lesson, names: Sequence[str], made: Callable[[dict[str, Any]], Program]) -> list[Program]:
    """Mutants of a lesson as programs; `made` takes one out of the names that a mutant's file defines."""
    by_name = {mutant.name: mutant for mutant in lesson.mutants}
    return [named(made(defined(by_name[name].text, name)), name, by_name[name].title) for name in names]


def solution(lesson: Lesson, made: Callable[[dict[str, Any]], Program], story: str) -> Program:
    """Our solution of a lesson as a program."""
    return named(made(defined(lesson.source.solution(), "ours")), "ours", story)


def defined(text: str, name: str) -> dict[str, Any]:
    """The names that a file gives something to."""
    defined: dict[str, Any] = {"__name__": name}
    exec(compile(text, f"<{name}>", "exec"), defined)
    return defined


def named(program: Program, name: str, story: str) -> Program:
    """The same program, with another name and story."""

    @functools.wraps(program)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        return program(*args, **kwargs)

    renamed.__name__, renamed.__doc__ = name, story
    return renamed


# ------------------------------------------------------------------------------- one version


def _tried(test: Program, program: Program, how: settings, must_look: bool = False) -> Exception | None:
    """The error that the property raises about one program. If it `must_look`, it may not pass because it tries nothing."""
    handle: Any = getattr(test, "hypothesis")  # noqa: B009  (mypy knows of no such attribute)
    inner, calls = handle.inner_test, Counter[str]()
    handle.inner_test = _counted(inner, calls, "examples")
    seed(SEED)(test)
    test.__dict__[SETTINGS] = how  # also where it has its own
    try:
        with _no_constants():
            test(_counted(program, calls, "program"))
    except HypothesisException as error:  # an InvalidArgument is one
        raise AssertionError(_in_words(error)) from error
    except Exception as error:
        return error
    finally:
        handle.inner_test = inner
    if must_look and not calls["program"]:
        raise AssertionError("your property never calls the program that it is given")
    if must_look and calls["examples"] < 2:
        raise AssertionError(
            "Hypothesis has only one example to draw, and ran your property once. A loop inside it tries only the "
            "inputs that you thought of: let @given draw them"
        )
    return None


def _counted(function: Program, calls: Counter[str], name: str) -> Program:
    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        calls[name] += 1
        return function(*args, **kwargs)

    return counted


@contextmanager
def _no_constants() -> Iterator[None]:
    """Hypothesis also draws numbers and texts that stand in modules. Then one more line in a file, or one more
    module that was imported, would change the examples, and with them a verdict. Here it knows of none."""
    providers: Any = importlib.import_module("hypothesis.internal.conjecture.providers")
    known = getattr(providers, "_get_local_constants", None)
    if known is None:  # of Hypothesis before 6.131, which does not do this
        yield
        return
    cache = providers.CONSTANTS_CACHE.cache
    providers._get_local_constants = providers.Constants
    cache.clear()
    try:
        yield
    finally:
        providers._get_local_constants = known
        cache.clear()


def _demand_a_test(test: object) -> None:
    name = getattr(test, "__name__", "your property")
    if not callable(test):
        raise AssertionError(f"{name} is {test!r}, expected a function under @given(…)")
    if not getattr(test, "is_hypothesis_test", False):
        raise AssertionError(
            f"{name} is no Hypothesis test: there is no @given(…) above it. Examples in a loop try only the inputs that "
            "you thought of"
        )
    free = list(inspect.signature(test).parameters)
    program = name.removeprefix("property_of_")
    inner = inspect.signature(getattr(test, "hypothesis").inner_test)  # noqa: B009
    if program in inner.parameters and program not in free:
        raise AssertionError(f"the program comes first in {name}: def {name}({program}, …)")
    any_at_all = ["arguments", "kwargs"]  # of these Hypothesis says itself what is wrong
    if len(free) != 1 and free != any_at_all:
        raise AssertionError(
            f"{name} takes the program first, and @given draws all other arguments; left for the program: "
            f"{', '.join(free) or 'none'}"
        )


# -------------------------------------------------------------------------------------- words


def _story(program: Program) -> str:
    return (program.__doc__ or "").strip().split("\n")[0].rstrip(".")


def _listed(lines: Sequence[str]) -> str:
    return "".join(f"\n    {line}" for line in lines)


def _failing_line(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f" ({Path(last.filename).name}:{last.lineno}: {last.line})" if last.line else ""
    return f"an assert fails{where}"


def _in_words(error: Exception) -> str:
    """The error, and the example upon which it came."""
    said = str(error).strip().split("\n")[0]
    kind = type(error).__name__
    returned = re.search(r"should return None, but \w+ returned (.*?) instead", said)
    if returned:
        return f"your property returns {returned[1]}. A property says no by an assert that fails"
    if isinstance(error, HypothesisException):
        return f"Hypothesis stops with {kind}: {said}"
    head = (said or _failing_line(error)) if isinstance(error, AssertionError) else f"{kind}: {said}"
    notes = "\n".join(getattr(error, "__notes__", []))
    found = re.search(r"^[A-Z][\w ]*: \w+\((.*?)^\)", notes, re.DOTALL | re.MULTILINE)
    if found is None:
        return head
    lines = [line.split("  # ")[0].strip() for line in found[1].strip().split("\n")]
    drawn = " ".join(line for line in lines[1:] if line)  # the first is the program
    return f"{head}, with {drawn.rstrip(',')[:SHOWN]}" if drawn else head
