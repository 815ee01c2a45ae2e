"""A learner's file in another size of blanks: what they wrote is carried over where it can be.

found = carry(text, lesson, GAP, FUNCTION)
found.text         the file in the new size
found.kept         the functions and classes that the learner wrote, which stand in it
found.dropped      those begun and not finished, which do not

A function is the learner's own as soon as no blank is left in it and it is not as it was given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mtd.course import source
from mtd.course.lesson import Lesson
from mtd.course.sizes import FILE, Function, first_line, given_nodes, names_of, needed
from mtd.course.source import END, MARK

OPEN, GIVEN, OWN = "open", "given", "own"
Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class CarriedText:
    text: str
    kept: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class StatementPiece:
    """A statement with the lines above it that no other statement has."""

    key: str  # its name; of an import its text
    node: ast.stmt
    begin: int  # of the lines above it, from 0
    first: int  # its own first line
    end: int  # the line behind its last

    def lines(self, text: list[str]) -> list[str]:
        return text[self.first : self.end]


class LessonText:
    """A text of a lesson's file, taken apart into statements and methods."""

    def __init__(self, text: str) -> None:
        self.text, self.lines = text, text.rstrip("\n").split("\n")
        self.tree = ast.parse(text)
        self.pieces = self._pieces(self.tree.body, 0, len(self.lines))
        self.named = dict(self._named())  # its functions, classes and methods, as `Office.join`

    def _pieces(self, body: list[ast.stmt], begin: int, stop: int) -> list[StatementPiece]:
        found, at = [], begin
        for number, node in enumerate(body):
            first = first_line(node) - 1
            end = node.end_lineno or node.lineno
            limit = stop if number + 1 == len(body) else body[number + 1].lineno - 1
            if isinstance(node, Function | ast.ClassDef):  # the mark that ends a blank in it
                while end < limit and self.lines[end].strip() == END and self.lines[end] != END:
                    end += 1
            found.append(StatementPiece(_key(node), node, at, first, end))
            at = end
        return found

    def _named(self) -> Iterator[tuple[str, StatementPiece]]:
        for piece in self.pieces:
            if isinstance(piece.node, Function | ast.ClassDef):
                yield piece.key, piece
            if isinstance(piece.node, ast.ClassDef):
                inside = self._pieces(piece.node.body, piece.node.lineno, piece.end)
                yield from ((f"{piece.key}.{one.key}", one) for one in inside if isinstance(one.node, Function))

    def same(self, piece: StatementPiece, other: LessonText, theirs: StatementPiece) -> bool:
        return _code(piece.lines(self.lines)) == _code(theirs.lines(other.lines))


def _key(node: ast.stmt) -> str:
    if isinstance(node, Function | ast.ClassDef):
        return node.name
    names = "" if isinstance(node, Import) else ", ".join(sorted(names_of(node)))
    return names or ast.unparse(node)


def _code(lines: list[str]) -> list[str]:
    """Without empty lines and comments."""
    bare = [line.rstrip() for line in lines]
    return [line for line in bare if line and not line.lstrip().startswith("#")]


def carry(text: str, lesson: Lesson, before: str, after: str) -> CarriedText:
    """The learner's text, written for blanks of size `before`, with blanks of size `after`."""
    number = lesson.number
    skeleton = lesson.sized(after).skeleton(number)
    given = lesson.sized(before).skeleton(number)
    if before == after:
        return CarriedText(text, (), ())
    if text == given:
        return CarriedText(skeleton, (), ())
    try:
        mine = LessonText(text)
    except (SyntaxError, ValueError):
        return CarriedText(skeleton, (), (lesson.file,))
    states = _states(mine, LessonText(given), lesson, before)
    kept = tuple(name for name, state in states.items() if state == OWN)
    begun = tuple(name for name, state in states.items() if state == OPEN)
    if FILE not in (before, after):
        return CarriedText(_exchanged(mine, LessonText(skeleton), states), kept, ())
    if before == FILE:
        blank = {line - 1 for line, _ in source.missing(text, number)}
        chosen = [piece for piece in mine.pieces if piece.first not in blank]
        return CarriedText(_onto(mine, LessonText(skeleton), chosen), kept, ())
    if not begun:
        return CarriedText(text, kept, ())  # nothing is blank any more
    return _into_a_file(mine, lesson, states)


# ---------------------------------------------------------------------------- whose each part is


def _states(mine: LessonText, given: LessonText, lesson: Lesson, size: str) -> dict[str, str]:
    """Of each function, class and method of the learner's text, by its name, as `Office.join`."""
    blank = [line - 1 for line, _ in source.missing(mine.text, lesson.number)]
    blank += [line - 1 for line, _ in source.as_given(mine.text, lesson.sized(size))]

    def state(piece: StatementPiece, theirs: StatementPiece | None) -> str:
        if any(piece.first <= line < piece.end for line in blank):
            return OPEN
        return GIVEN if theirs is not None and mine.same(piece, given, theirs) else OWN

    return {name: state(piece, given.named.get(name)) for name, piece in mine.named.items()}


# --------------------------------------------------------------------------- gap and function


def _exchanged(mine: LessonText, new: LessonText, states: dict[str, str]) -> str:
    """The learner's text; functions that are open or as given are as the new size has them."""
    changes = [
        (piece.first, piece.end, new.named[name].lines(new.lines))
        for name, piece in mine.named.items()
        if isinstance(piece.node, Function) and states[name] != OWN and name in new.named
    ]
    lines = [*mine.lines]
    for first, end, instead in sorted(changes, reverse=True, key=lambda one: one[0]):
        lines[first:end] = instead
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------- from a file


def _onto(mine: LessonText, new: LessonText, chosen: Sequence[StatementPiece], at_end: bool = False) -> str:
    """The new size's text with these statements of the learner's in it: instead of ours, or behind the one before them.
    With `at_end` all but imports stand behind the whole text."""
    lines: list[list[str]] = [new.lines[piece.begin : piece.end] for piece in new.pieces]
    place = {piece.key: at for at, piece in enumerate(new.pieces)}
    imports = [at for at, piece in enumerate(new.pieces) if isinstance(piece.node, Import)]
    at, behind = imports[-1] if at_end and imports else 0, list[str]()
    for piece in chosen:
        own = piece.lines(mine.lines)
        if piece.key in place:
            at = place[piece.key]
            lines[at] = [*new.lines[new.pieces[at].begin : new.pieces[at].first], *own]
        elif at_end and not isinstance(piece.node, Import):
            behind += ["", "", *own]
        else:
            lines[at] = [*lines[at], *_above(mine, piece), *own]
    rest = new.lines[new.pieces[-1].end :] if new.pieces else []
    return "\n".join(line for part in [*lines, rest, behind] for line in part) + "\n"


def _above(mine: LessonText, piece: StatementPiece) -> list[str]:
    """Empty lines and comments of the learner's above a statement; those that ask for something are left out."""
    above = mine.lines[piece.begin : piece.first]
    if END in above:
        above = above[above.index(END) + 1 :]
    elif any(MARK.match(line) for line in above):
        return ["", ""]
    return above


# ---------------------------------------------------------------------------------- into a file


def _into_a_file(mine: LessonText, lesson: Lesson, states: dict[str, str]) -> CarriedText:
    """The file that asks for all that is not finished, and behind it what is, with what it uses."""
    whole = {
        piece.key: piece
        for piece in mine.pieces
        if states.get(piece.key) != OPEN and not isinstance(piece.node, Import)
    }
    wanted = {name for name in whole if states.get(name) == OWN}
    nodes = needed(wanted, [piece.node for piece in whole.values()])
    own = {key for key, piece in whole.items() if piece.node in nodes}
    written = {name for node in nodes for name in names_of(node)}
    skeleton = lesson.sized(FILE, frozenset(written)).skeleton(lesson.number)
    new = LessonText(skeleton)
    stays = {name for node in given_nodes(new.tree) for name in names_of(node)}
    fresh = [piece for piece in mine.pieces if not names_of(piece.node) <= stays]
    chosen = [piece for piece in fresh if piece.key in own or isinstance(piece.node, Import)]
    kept = tuple(name for name, state in states.items() if state == OWN and name.partition(".")[0] in own)
    dropped = tuple(name for name, state in states.items() if state == OWN and name not in kept)
    return CarriedText(_onto(mine, new, chosen, at_end=True), kept, dropped)
