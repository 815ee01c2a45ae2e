"""An error of a learner's code, in words about that code.

    TypeError: can't concat NoneType to bytes
        stream.py:51: frame = first + read_exactly(connection, frames.LENGTH - 1)
        (a given line; there first = b'm')
        read_exactly comes to its end without a return, and gives None (stream.py:29)

A traceback ends where something could not go on, often in lines that were given, or in the check itself.
This module tells how it came there: the line of the learner's file, and what the names in it stood for. It
also tells which of the learner's functions return nothing although ours do, and which `return` skips given lines.
"""

from __future__ import annotations

import ast
import re
import textwrap
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

from mtd.course.sizes import Function, members_of, signature
from mtd.course.source import END, MARK, Source

SHORT = 48  # characters of a value
UNSET = r"(?:name|variable|no attribute) '(\w+)'(?: is not defined| where it is not assoc|$|\n)"
PLACE = "\n    "


def in_words(error: BaseException, file: Path, check: Path | None = None) -> str:
    """The error, and where in the learner's file it happened; if nowhere there, where in the check."""
    lines = [_said(error)]
    if isinstance(error, SyntaxError):
        return f"{lines[0]}{PLACE}{file.name}:{error.lineno}: {(error.text or '').strip()}"
    frames = [place for one in chained(error) for place in traceback.walk_tb(one.__traceback__)]
    own = [place for place in frames if Path(place[0].f_code.co_filename).resolve() == file.resolve()]
    if own:
        lines += _place(*own[-1], file)
    elif check is not None and not isinstance(error, AssertionError):
        there = [place for place in frames if Path(place[0].f_code.co_filename).parent == check.parent]
        if there:
            frame, line = there[-1]
            # Not the words of an assert, nor a comma that leads on.
            shown = re.sub(r",( \(| f?[\"'].*)?$", "", _line(frame, line))
            lines.append(f"in the check, with what your code gave: {shown}{_values(frame, line)}")
    return PLACE.join(lines)


def _said(error: BaseException) -> str:
    said = str(error).strip() or type(error).__name__
    if isinstance(error, AssertionError):
        return said
    if isinstance(error, KeyError):
        said = f"there is no {said} in it"
    if isinstance(error, NotImplementedError) and re.match(r"lesson \d|$", str(error)):
        said = "this line stands where your code belongs. Write yours, and delete it"
    kind = type(error).__name__
    kind = f"{type(error).__module__}.{kind}" if kind == "error" else kind  # struct.error
    return f"{kind}: {said}"


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _line(frame: FrameType, line: int) -> str:
    name = frame.f_code.co_filename
    return f"{Path(name).name}:{line}: {_text(name, line)}"


def _text(name: str, line: int) -> str:
    lines = Path(name).read_text("utf-8").split("\n")
    return lines[line - 1].strip() if line <= len(lines) else ""


def _place(frame: FrameType, line: int, file: Path) -> list[str]:
    """The line, whose it is, and what its names stood for."""
    values = _values(frame, line).removeprefix(", where ")
    given = "a given line" if not is_blank(file.read_text("utf-8"), line) else ""
    both = "; there ".join(filter(None, [given, values])) if given else values and f"there {values}"
    return [_line(frame, line), *([f"({both})"] if both else [])]


def is_blank(text: str, wanted: int) -> bool:
    """Whether a line is the learner's; where no mark is left every line is."""
    inside, found = False, False
    for number, line in enumerate(text.split("\n"), 1):
        inside, found = inside or bool(MARK.match(line)), found or bool(MARK.match(line))
        if number == wanted and inside:
            return True
        inside = inside and line.strip() != END
    return not found


def _values(frame: FrameType, line: int) -> str:
    """`, where now = 0, src = 1`: of the names in that line, what is short."""
    text = _text(frame.f_code.co_filename, line)
    found = {}
    for name in re.findall(r"(?<![.\w'\"])[A-Za-z_]\w*", text):
        value = frame.f_locals.get(name, frame)  # `frame` itself: it is no local name
        if value is None or isinstance(value, (bool, int, float, str, bytes, tuple, list, dict)):
            shown = repr(getattr(value, "item", lambda value=value: value)())  # numpy's as Python's
            if len(shown) <= SHORT:
                found[name] = f"{name} = {shown}"
        elif isinstance(getattr(value, "shape", None), tuple):
            found[name] = f"{name}.shape = {tuple(value.shape)}"
        elif value is not frame and name != "self" and not callable(value):
            shown = repr(value)
            is_short = len(shown) <= SHORT and " object at 0x" not in shown
            found[name] = f"{name} = {shown}" if is_short else f"{name}: {type(value).__name__}"
    for name, call in re.findall(r"([A-Za-z_]\w*(?:\.\w+)+)(\(?)", text):
        name = name.rpartition(".")[0] if call else name
        if "." in name and _is_none(frame, name):
            found[name] = f"{name} = None"
    return f", where {', '.join(found.values())}" if found else ""


def _is_none(frame: FrameType, name: str) -> bool:
    first, *rest = name.split(".")
    value = frame.f_locals.get(first, frame)
    with suppress(Exception):
        for each in rest:
            value = getattr(value, each)
        return value is None
    return False


# ------------------------------------------------------------------ what is seen without running


def remarks(said: str, text: str, ours: Source, file: str) -> list[str]:
    """Possible causes of such a complaint: a function that returns nothing or too early, a name that no line sets."""
    found = [f"{words} ({file}:{line})" for line, words in too_early(text, ours)]
    if "None" in said or "nothing" in said:
        found += [f"{words} ({file}:{line})" for line, words in silent(text, ours.solution())]
    found += missing_parts(said, text, ours)
    unset = re.search(UNSET, said) or re.search(r"self\.(\w+) = None\b", said)
    if unset:
        is_member = "attribute" in unset[0] or "self." in unset[0]
        found += [
            f"blank {blank.number} is to set {unset[1]}: {blank.task}"
            for blank in ours.blanks
            if "\n".join(blank.head) in text and unset[1] in _set_by("\n".join(blank.solution), is_member)
        ]
    return found


def missing_parts(said: str, text: str, ours: Source) -> list[str]:
    """Of a name or a method that the text lacks and that our solution has: its arguments, and its task."""
    own = _functions(text)
    lacks = re.search(r"AttributeError: '(\w+)' object has no attribute '(\w+)'", said)
    if lacks:
        member = members_of(ours).get((lacks[1], lacks[2]))
        if member is not None and f".{lacks[1]}.{lacks[2]}" not in own:
            return [f"{lacks[1]} is to have {member}"]
    unknown = re.search(r"NameError: name '(\w+)' is not defined", said)
    if unknown:
        helper = _functions(ours.solution()).get(f".{unknown[1]}")
        if helper is not None and f".{unknown[1]}" not in own:
            return [f"our file has a function for this, {signature(helper)}, and yours has none"]
    called = re.search(r"TypeError: (?:\w+\.)*(\w+)\(\) (?:got|missing|takes)", said)
    if called:
        theirs, right = own.get(f".{called[1]}"), _functions(ours.solution()).get(f".{called[1]}")
        if theirs is not None and right is not None and signature(theirs) != signature(right):
            return [f"it is called as {signature(right)}, and yours is {signature(theirs)}"]
    return []


def silent(text: str, ours: str) -> list[tuple[int, str]]:
    """Functions of this text that can end without a value, where ours of the same name always return one."""
    right, found = _functions(ours), []
    for name, function in _functions(text).items():
        if name not in right or not _always_returns(right[name]) or _yields(function):
            continue
        short = function.name
        empty = [one.lineno for one in _returns(function) if _is_nothing(one.value)]
        if empty:
            found.append((empty[0], f"{short} returns nothing here"))
        elif not _ends(function.body):
            said = f"{short} can come to its end without a return, and gives None"
            if _prints(function):
                said += ". You see the print, and its caller does not"
            found.append((function.lineno, said))
    return found


def too_early(text: str, ours: Source) -> list[tuple[int, str]]:
    """Each `return` within a blank where ours has none, although given lines of the function follow the blank."""
    found, lines = [], text.split("\n")
    returns = re.compile(r"(?m)^\s*return\b")
    without = {one.number for one in ours.blanks if not returns.search("\n".join(one.solution))}
    blanks = [
        (int(mark["number"]), first, next(n for n, line in enumerate(lines[first:], first + 1) if line.strip() == END))
        for first, line in enumerate(lines, 1)
        if (mark := MARK.match(line)) and END in map(str.strip, lines[first:])
    ]
    for function in _functions(text).values():
        for number, first, last in blanks:
            early = [one.lineno for one in _returns(function) if first < one.lineno < last]
            rest = [line.strip() for line in lines[last : function.end_lineno]]
            rest = [line for line in rest if line and line[0] != "#"]
            if early and rest and number in without:
                said = f"the return in blank {number} leaves the function before `{rest[0]}`"
                found.append((early[0], said))
    return found


def _functions(text: str) -> dict[str, Function]:
    """By their names, with those of what they stand in."""
    found: dict[str, Function] = {}

    def visit(node: ast.AST, above: str) -> None:
        for each in ast.iter_child_nodes(node):
            name = f"{above}.{each.name}" if isinstance(each, Function | ast.ClassDef) else above
            if isinstance(each, Function):
                found[name] = each
            visit(each, name)

    visit(ast.parse(text), "")
    return found


def _inside(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function, without functions within it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def _returns(function: Function) -> list[ast.Return]:
    return [node for node in _inside(function) if isinstance(node, ast.Return)]


def _yields(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _inside(function))


def _prints(function: Function) -> bool:
    calls = [node.func for node in _inside(function) if isinstance(node, ast.Call)]
    return any(isinstance(one, ast.Name) and one.id == "print" for one in calls)


def _is_nothing(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _always_returns(function: Function) -> bool:
    found = _returns(function)
    values = bool(found) and not any(_is_nothing(one.value) for one in found)
    return values and _ends(function.body) and not _yields(function)


def _ends(body: list[ast.stmt]) -> bool:
    """Whether what stands after this body is never reached."""
    return bool(body) and any(_ends_one(statement) for statement in body)


def _ends_one(one: ast.stmt) -> bool:
    match one:
        case ast.Return() | ast.Raise():
            return True
        case ast.If():
            return _ends(one.body) and _ends(one.orelse)
        case ast.With():
            return _ends(one.body)
        case ast.While(test=ast.Constant(value=True)):
            return not any(isinstance(node, ast.Break) for node in ast.walk(one))
        case ast.Try():
            whole = _ends(one.body + one.orelse) and all(_ends(each.body) for each in one.handlers)
            return whole or _ends(one.finalbody)
        case ast.Match():
            last = one.cases[-1]
            is_rest = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
            return is_rest and last.guard is None and all(_ends(each.body) for each in one.cases)
    return False


def _set_by(lines: str, is_member: bool) -> set[str]:
    """The names and attributes that these lines set, or only the attributes; none within functions of their own."""
    try:
        tree = ast.parse(textwrap.dedent(lines))
    except SyntaxError:  # a part of a statement
        return set(re.findall(r"^\s*(?:\w+\.)?(\w+)\s*=(?!=)", lines, re.MULTILINE))
    tree.body = [one for one in tree.body if not isinstance(one, Function)]
    stored = [node for node in ast.walk(tree) if isinstance(getattr(node, "ctx", None), ast.Store)]
    attributes = {node.attr for node in stored if isinstance(node, ast.Attribute)}
    names = {node.id for node in stored if isinstance(node, ast.Name)}
    return attributes if is_member else attributes | names
