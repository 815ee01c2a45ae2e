"""The one source of a lesson: a program that runs, with the learner's part marked in it.

    def right(rank, size):
        # BLANK 1: who sits to the right of `rank` (about 1 line)
        return (rank + 1) % size
        # END

is the solution. In the skeleton a line stands between the marks, which says what is missing when it is
reached. Where something is to be repaired, the lines stand there that are commented with `#|` after
`# INSTEAD`:

        # BLANK 1: this waits for ever where sends wait (about 3 lines)
        work = dist.isend(x, right)
        dist.recv(y, left)
        work.wait()
        # INSTEAD
        #| dist.send(x, right)
        #| dist.recv(y, left)
        # END

Comments between the mark and the first line of code belong to the task and stay in the skeleton. A task that
does not fit a line is in several ones there.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MARK = re.compile(r"^(?P<indent>\s*)# BLANK (?P<number>\d+): (?P<task>.+)$")
ASKED = re.compile(r"# (?:class )?(\w+)(?:\(|$)")  # in the comments of a whole file's blank
DEFINED = re.compile(r"(?:def|class) (\w+)")
END, INSTEAD, OTHERWISE = "# END", "# INSTEAD", "#|"
WIDTH = 100  # columns of a line that is made here
COUNT = re.compile(r"(?<= )\((?:about )?\d+ lines?\)$")  # at the end of a task
NO_BREAK = "\x00"
GOES_ON = "#" + 10 * " "  # the second line of a task: beneath its words


class MarksError(ValueError):
    """The marks of a lesson's source do not fit together."""


@dataclass(frozen=True)
class Blank:
    """A place that a learner fills."""

    number: int
    task: str
    indent: str
    more: tuple[str, ...]  # comments that explain the task
    solution: tuple[str, ...]
    instead: tuple[str, ...]  # what the skeleton has there; empty: a line that says what is missing

    def missing(self, lesson: float) -> str:
        """The line of the skeleton."""
        return f'{self.indent}raise NotImplementedError("lesson {lesson}, blank {self.number}")'

    @property
    def head(self) -> tuple[str, ...]:
        """The lines of its mark."""
        said = f"{self.indent}# BLANK {self.number}: {self.task}"
        return (*folded(said, self.indent + GOES_ON),)


@dataclass(frozen=True)
class Source:
    """The marked text, taken apart: lines, and blanks between them."""

    parts: tuple[str | Blank, ...]

    @property
    def blanks(self) -> list[Blank]:
        return [part for part in self.parts if isinstance(part, Blank)]

    def skeleton(self, lesson: float) -> str:
        """The file that a learner begins with."""
        return self._text(lambda blank: blank.instead or (blank.missing(lesson),))

    def solution(self, marks: bool = False) -> str:
        """The file as it should be; `marks` show where the blanks were."""
        return self._text(lambda blank: blank.solution, marks)

    def filled(self, fillings: dict[int, tuple[str, ...]]) -> str:
        """The solution, with these lines, from the margin on, in some of the blanks."""

        def fill(blank: Blank) -> tuple[str, ...]:
            if blank.number not in fillings:
                return blank.solution
            return tuple(f"{blank.indent}{line}".rstrip() for line in fillings[blank.number])

        return self._text(fill)

    def _text(self, fill: Callable[[Blank], tuple[str, ...]], marks: bool = True) -> str:
        lines: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                lines.append(part)
                continue
            if marks:
                lines += [*part.head, *part.more]
            lines += fill(part)
            lines += [f"{part.indent}{END}"] if marks else []
        return "\n".join(lines) + "\n"


def folded(line: str, margin: str) -> list[str]:
    """The line in as many lines as it takes; all but the first begin with this margin. `(about 7 lines)` stays whole."""
    whole = COUNT.sub(lambda found: found[0].replace(" ", NO_BREAK), line)
    lines = textwrap.wrap(whole, WIDTH, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False)
    return [one.replace(NO_BREAK, " ") for one in lines]


def parse(text: str, name: str = "source", some: bool = False) -> Source:
    """Take a marked text apart; MarksError says which line does not fit. `some` blanks may be missing."""
    parts: list[str | Blank] = []
    begun: re.Match[str] | None = None
    region: list[str] = []
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        found = MARK.match(line)
        if found and begun:
            raise MarksError(f"{name}:{number}: blank {begun['number']} has no '# END' before this")
        if found:
            begun, region = found, []
        elif line.strip() == END:
            if begun is None:
                raise MarksError(f"{name}:{number}: '# END' without a '# BLANK n: task' before it")
            parts.append(_blank(begun, region))
            begun = None
        elif begun:
            region.append(line)
        elif "# BLANK" in line:
            raise MarksError(f"{name}:{number}: a mark is like '# BLANK 1: what is to be written'")
        else:
            parts.append(line)
    if begun:
        raise MarksError(f"{name}: blank {begun['number']} has no '# END'")
    source = Source(tuple(parts))
    numbers = [blank.number for blank in source.blanks]
    if numbers != (sorted(set(numbers)) if some else list(range(1, len(numbers) + 1))):
        raise MarksError(f"{name}: the blanks are numbered {numbers}, expected 1, 2, 3, …")
    return source


def _blank(mark: re.Match[str], region: list[str]) -> Blank:
    indent = mark["indent"]
    place = next((i for i, line in enumerate(region) if line.strip() == INSTEAD), len(region))
    lines, instead = region[:place], region[place + 1 :]
    more: list[str] = []
    while lines and lines[0].strip().startswith("#"):
        more.append(lines.pop(0))
    plain = tuple(_uncommented(line, indent) for line in instead)
    return Blank(int(mark["number"]), mark["task"], indent, tuple(more), tuple(lines), plain)


def _uncommented(line: str, indent: str) -> str:
    bare = line.strip()
    if not bare.startswith(OTHERWISE):
        raise MarksError(f"after '# INSTEAD' each line begins with '#|', this does not: {line!r}")
    return (indent + bare[len(OTHERWISE) :].removeprefix(" ")).rstrip()


DELETE = "Your code is there, and so is this line, which begins with raise: delete it."


def unwritten(text: str, lesson: float) -> list[str]:
    """The blanks of a learner's file that are still blank, in words."""
    return [f"{said}. {DELETE}" if has_code_beside(text, line) else said for line, said in missing(text, lesson)]


def missing(text: str, lesson: float) -> list[tuple[int, str]]:
    """The same, with their lines. (In skeletons of old the line that raises has the task, too.)"""
    raising = re.compile(rf'\s*raise NotImplementedError\("lesson {lesson}, blank (\d+)(?:: (.*))?"\)\s*')
    lines = text.split("\n")
    found = [(number, raising.fullmatch(line)) for number, line in enumerate(lines, 1)]
    return [
        (number, f"blank {match[1]}: {_task(lines[:number], match[1]) or match[2] or 'it is open'}")
        for number, match in found
        if match
    ]


def _task(lines: Sequence[str], number: str) -> str:
    """The text of this blank's mark, the last one in these lines; "" if there is none."""
    marks = ((at, MARK.match(line)) for at, line in reversed([*enumerate(lines)]))
    for at, mark in marks:
        if mark and mark["number"] == number:
            words = [mark["task"]]
            for line in lines[at + 1 :]:
                if not line.startswith(mark["indent"] + GOES_ON):
                    break
                words.append(line.strip().removeprefix("#").strip())
            return " ".join(words)
    return ""


def has_code_beside(text: str, line: int) -> bool:
    """Whether code stands in this blank, though its line that says what is missing is there, too.

    Behind the blank of a whole file stands what was finished before, and perhaps a name for which its comments ask.
    """
    lines = text.split("\n")
    first = next((at for at in range(line - 1, -1, -1) if MARK.match(lines[at])), None)
    if first is None:
        return False
    last = next((at for at in range(line, len(lines)) if lines[at].strip() == END), len(lines))
    if any(map(_is_code, [*lines[first + 1 : line - 1], *lines[line:last]])):
        return True
    asked = {found[1] for one in lines[first:line] if (found := ASKED.match(one))}
    return any(found[1] in asked for one in lines[last:] if (found := DEFINED.match(one)))


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


def as_given(text: str, source: Source) -> list[tuple[int, Blank]]:
    """Blanks to be repaired, of which nothing has been changed yet; with the line of their mark."""
    lines = [line.rstrip() for line in text.split("\n")]
    found = []
    for blank in source.blanks:
        whole = [*blank.head, *blank.more, *blank.instead, f"{blank.indent}{END}"]
        if blank.instead and whole[0] in lines:
            at = lines.index(whole[0])
            if lines[at : at + len(whole)] == [line.rstrip() for line in whole]:
                found.append((at + 1, blank))
    return found


def summary(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) -> str:
    """The first paragraph of its docstring, in one line; "" if it has none."""
    return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
