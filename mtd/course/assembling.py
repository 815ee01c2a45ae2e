"""Your code is the system: the lessons' modules, and a thin given face, as one package that needs nothing of ours.

    mystack/
      ring.py, …        the learner's modules, ours where a lesson is open; only their lines that import are changed
      face/             given: what the lessons import from the library, in a small plain form (lessons/face)
      lessons.json      which module is which lesson's, and whose

A learner's module counts as soon as it has no blank left, right or wrong: `python -m mystack examine` tells.
"""

from __future__ import annotations

import ast
import difflib
import json
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mtd.course.code_lines import code_lines
from mtd.course.lesson import ROOM, Lesson, LessonError, all_lessons
from mtd.course.progress import Progress
from mtd.course.sizes import first_line, imported, names_of, words_of
from mtd.course.source import END
from mtd.course.workspace import Workspace
from mtd.pages import whole_files

FACE: Final = "face"
MADE: Final = "lessons.json"  # tells a folder that was assembled from any other

_CHOICES: Final = tomllib.loads(Path(__file__).with_name("stack.toml").read_text("utf-8"))
# The face's module in the place of a module of the library.
FACES: Final[Mapping[str, str]] = _CHOICES["faces"]
WITHOUT: Final = frozenset(_CHOICES["without"])  # lessons that are no part of the stack
LEFT_OUT: Final = {module: frozenset(names) for module, names in _CHOICES["left_out"].items()}
# Properties are no part of what runs: these functions, and all that needs this library.
PROPERTY: Final = "property_of_"
TESTING: Final = "hypothesis"


class AssembleError(LessonError):
    """The stack cannot be assembled; the text says which lesson and line are in the way."""


@dataclass(frozen=True)
class StackModule:
    """A lesson's module in the stack."""

    lesson: Lesson
    whose: str  # yours, or ours
    text: str
    lines: int  # of code
    written: int  # of those, the learner's own
    size: str  # of the blanks that they filled; "" where it is ours
    has_passed: bool = True  # its lesson's check, as it is now


@dataclass(frozen=True)
class Assembled:
    folder: Path
    parts: list[StackModule]
    face_lines: int


def assemble(folder: Path, workspace: Workspace | None, room: Path = ROOM) -> Assembled:
    """Write the stack into a new or an assembled folder. Without a workspace all modules are ours."""
    folder = folder.expanduser().resolve()
    if not folder.name.isidentifier():
        raise AssembleError(
            f"Python imports the folder by its name, and {folder.name!r} is no name; for example: mtd assemble --out mystack"
        )
    _refuse(folder)
    parts = modules_of(workspace, room)
    texts = texts_of(parts, room)
    try:
        (folder / FACE).mkdir(parents=True, exist_ok=True)
        for path in [*folder.glob("*.py"), *(folder / FACE).glob("*.py")]:
            path.unlink()  # a lesson may have been left out since the last time
        for name, text in texts.items():
            whole_files.write(folder / name, text)
    except OSError as error:
        raise AssembleError(f"{error.filename or folder} cannot be written: {error.strerror}") from error
    given = [name for name in texts if name.startswith(f"{FACE}/") and name.endswith(".py")]
    return Assembled(folder, parts, sum(code_lines(texts[name]) for name in given))


def texts_of(parts: Sequence[StackModule], room: Path = ROOM) -> dict[str, str]:
    """Each file of the stack by its name in the folder."""
    face = room / FACE
    if not face.is_dir():
        raise AssembleError(f"there is no {face}: these lessons have no face to stand on")
    given = [path for path in sorted(face.iterdir()) if path.is_file()]
    return {
        **{part.lesson.file: part.text for part in parts},
        **{f"{FACE}/{path.name}": path.read_text("utf-8") for path in given},
        "__init__.py": _docstring(parts),
        "__main__.py": Path(__file__).with_name("stack_main.txt").read_text("utf-8"),
        MADE: json.dumps(_whose(parts), indent=1, ensure_ascii=False) + "\n",
    }


def _docstring(parts: Iterable[StackModule]) -> str:
    lines = [f"{part.lesson.label}  {part.lesson.file:<18} {part.lesson.title}" for part in parts]
    told = "\n".join(lines)
    return f'"""A distributed stack, in the order of its lessons.\n\n{told}\n\nface  what is given\n"""\n'


def _whose(parts: Iterable[StackModule]) -> dict[str, dict[str, object]]:
    return {
        part.lesson.module: {
            "number": part.lesson.number,
            "title": part.lesson.title,
            "whose": part.whose,
            "lines": part.lines,
            "written": part.written,
            "size": part.size,
        }
        for part in parts
    }


def _refuse(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise AssembleError(f"{folder} is a file; choose another name: mtd assemble --out mystack")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MADE).is_file():
        raise AssembleError(
            f"{folder} has other things in it, and nothing is overwritten; choose a new folder: mtd assemble --out mystack"
        )


# ------------------------------------------------------------------------------------------- modules


def modules_of(workspace: Workspace | None, room: Path = ROOM) -> list[StackModule]:
    """All modules of the stack, in the order of the lessons."""
    used = [one for one in all_lessons(room) if one.module not in WITHOUT]
    modules = {one.module for one in used}
    progress = Progress() if workspace is None else workspace.progress()
    own = {} if workspace is None else workspace.written(progress)
    parts = []
    for lesson in used:
        if workspace is None or lesson.number not in own:
            text = rewritten(lesson.source.solution(), lesson, modules)
            parts.append(StackModule(lesson, "ours", text, code_lines(text), 0, ""))
            continue
        mine, size = workspace.text_of(lesson), progress.size_of(lesson.number)
        text, written = rewritten(mine, lesson, modules), added(lesson, mine, size)
        has_passed = workspace.is_current(lesson, progress)
        parts.append(StackModule(lesson, "yours", text, code_lines(text), written, size, has_passed))
    return parts


def added(lesson: Lesson, text: str, size: str) -> int:
    """How many lines of code in the stack the learner wrote: those that the skeleton of this size does not have."""
    try:
        gone = {name for node in left_out(ast.parse(text), lesson) for name in names_of(node)}
    except (SyntaxError, ValueError):
        gone = set()
    skeleton = _without(gone, lesson.sized(size).skeleton(lesson.number))
    lines = difflib.ndiff(skeleton, _without(gone, text))
    added = (line[2:].strip() for line in lines if line.startswith("+ "))
    return sum(bool(line) and not line.startswith("#") for line in added)


def tests_of(tree: ast.Module) -> list[ast.stmt]:
    """The properties of a module, and the statements that need the library for properties, or these."""
    known, found = set[str](), []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            if any(map(_is_for_tests, imported(node))):
                known |= names_of(node)
            continue
        names = names_of(node)
        if known & _used(node) or any(name.startswith(PROPERTY) for name in names):
            known |= names
            found.append(node)
    return found


def left_out(tree: ast.Module, lesson: Lesson) -> list[ast.stmt]:
    """The statements that are no part of what runs, and whose names nothing else in the module uses."""
    names, tests = LEFT_OUT.get(lesson.module, frozenset()), tests_of(tree)
    gone = [node for node in tree.body if names_of(node) and names_of(node) <= names and node not in tests]
    while True:
        stays = [node for node in tree.body if node not in gone and node not in tests]
        used = set[str]().union(*map(words_of, stays))
        fewer = [node for node in gone if not names_of(node) & used]
        if len(fewer) == len(gone):
            return gone
        gone = fewer


def _is_for_tests(module: str) -> bool:
    return module.partition(".")[0] == TESTING


def _used(node: ast.stmt) -> set[str]:
    """Names that a statement takes from its module: not those that it gives something to itself."""
    return words_of(node) - words_of(node, ast.Store)


def _without(gone: set[str], text: str) -> list[str]:
    """The lines of a text without its properties and these names; all of them where it is no Python."""
    lines = text.split("\n")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return lines
    tests = tests_of(tree)
    places = [_with_marks(node, lines) for node in tests]
    places += [_lines(node) for node in tree.body if node not in tests and names_of(node) and names_of(node) <= gone]
    for first, last in sorted(places, reverse=True):
        del lines[first - 1 : last]
    return lines


def _with_marks(node: ast.stmt, lines: list[str]) -> tuple[int, int]:
    """The first and the last line of it, with the comments above and the mark that ends a blank."""
    first, last = _lines(node)
    while first > 1 and lines[first - 2].startswith("#") and not lines[first - 2].startswith("# ---"):
        first -= 1
    behind = next((at for at in range(last, len(lines)) if lines[at].strip()), last)
    return first, behind + 1 if lines[behind : behind + 1] == [END] else last


def _lines(node: ast.stmt) -> tuple[int, int]:
    return first_line(node), node.end_lineno or node.lineno


# ------------------------------------------------------------------------------------------- imports


def rewritten(text: str, lesson: Lesson, modules: Iterable[str]) -> str:
    """The module with imports of the stack's own; all else is word for word what it was."""
    tree = _parsed(text, lesson)
    known, lines = {*modules}, text.split("\n")
    tests = tests_of(tree)
    gone = tests + left_out(tree, lesson)
    tree.body = [node for node in tree.body if node not in gone]
    used = words_of(tree)
    # By first line: the last one, and what stands there instead.
    changes: dict[int, tuple[int, list[str]]] = {}
    for piece in gone:
        first, last = _with_marks(piece, lines) if piece in tests else _lines(piece)
        changes[first] = last, []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            wanted = used if gone else None
            said = _said(node, lesson, known, wanted)
            changes[node.lineno] = (node.end_lineno or node.lineno, [" " * node.col_offset + line for line in said])
    for first in sorted(changes, reverse=True):
        last, instead = changes[first]
        if not instead and lines[first - 2 : first - 1] == lines[last : last + 1] == [""]:
            last += 1  # the empty lines around what is left out become one
        lines[first - 1 : last] = instead
    return _tidy(lines)


def _parsed(text: str, lesson: Lesson) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise AssembleError(
            f"lesson {lesson.label}, line {error.lineno} of {lesson.file} is not Python: {error.msg}. "
            f"mtd check {lesson.number} shows it; mtd use reference {lesson.number} takes ours meanwhile"
        ) from error
    except ValueError as error:  # a null byte
        raise AssembleError(f"lesson {lesson.label}, {lesson.file} is not Python: {error}") from error


def _said(node: ast.Import | ast.ImportFrom, lesson: Lesson, modules: set[str], used: set[str] | None) -> list[str]:
    """The import's lines in the stack, the names of one module in one line. `used`: other names are not imported."""
    by_place: dict[str, list[str]] = {}
    for one in node.names:
        if used is not None and (one.asname or one.name.partition(".")[0]) not in used:
            continue
        if _is_for_tests(one.name if isinstance(node, ast.Import) else node.module or ""):
            continue
        place, name = _found(node, one, modules)
        if not place:
            inner = one.name if isinstance(node, ast.Import) else f"{_place(node)}.{one.name}"
            raise AssembleError(
                f"lesson {lesson.label}, line {node.lineno} of {lesson.file} imports {inner}, which the stack does not have; it "
                f"stands on numpy, the standard library, other lessons and what our lesson {lesson.label} imports"
            )
        by_place.setdefault(place, []).append(name)
    return [f"{place} import {', '.join(names)}" if any(names) else place for place, names in by_place.items()]


def _place(node: ast.ImportFrom) -> str:
    return "." * node.level + (node.module or "")


def _found(node: ast.Import | ast.ImportFrom, one: ast.alias, modules: set[str]) -> tuple[str, str]:
    """Where one name is in the stack, and what is imported from there; "" where it has nothing for it."""
    asked = f" as {one.asname}" if one.asname else ""
    place = "" if isinstance(node, ast.Import) else _place(node)
    inner = f"{place}.{one.name}" if place else one.name
    if inner in FACES and (place or asked):  # from minitorch_dist import nn
        folder, _, module = FACES[inner].rpartition(".")
        return f"from .{folder}", module + (asked or f" as {one.name}" * (module != one.name))
    name = one.name + asked
    if place in FACES and place != "minitorch_dist":
        return f"from .{FACES[place]}", name
    if (place or inner) in modules:
        return f"from .{place}", name
    if _is_plain(place or inner):
        return (f"from {place}", name) if place else (f"import {name}", "")
    return "", ""


def _is_plain(name: str) -> bool:
    top = name.partition(".")[0]
    return top == "numpy" or top in sys.stdlib_module_names


def _tidy(lines: list[str]) -> str:
    """At most two empty lines one after another, and none at the end; no headings of nothing."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or kept[-2:] != ["", ""]:
            kept.append(line)
    while kept and (not kept[-1].strip() or kept[-1].startswith("# ---")):
        kept.pop()
    return "\n".join(kept) + "\n"
