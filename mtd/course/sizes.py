"""A lesson's blanks in three sizes, all made from the one source.

    gap         a few lines of a function are blank, as the marks say
    function    the whole body of each such function is blank; its signature and docstring stay
    file        all functions and classes are blank; the imports, constants and records stay, and comments
                say which names are asked for

Each size is a `Source` of its own, so skeletons, complaints and hints come from it in the same way. The
solution is the same file in all three, and so is the check.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from mtd.course.source import END, WIDTH as COLUMNS, Blank, Source, folded, summary

GAP: Final = "gap"
FUNCTION: Final = "function"
FILE: Final = "file"
SIZES: Final = (GAP, FUNCTION, FILE)
WORDS: Final = {GAP: "a few lines are blank", FUNCTION: "whole functions are blank", FILE: "the whole file is blank"}
COUNT = re.compile(r" \((?:about )?\d+ lines?\)$")  # at the end of a task
WIDTH = 96  # of a comment that sums up

Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=256)
def sized(
    source: Source,
    size: str,
    whole: tuple[str, ...] = (),
    exports: tuple[str, ...] = (),
    carried: frozenset[str] = frozenset(),
) -> Source:
    """The source with blanks of this size.

    `whole` names functions without a gap that are blank in the size function, as `all_reduce` or `Office.join`.
    `exports` are the names that others use. Those that are `carried` are written already.
    """
    if size == GAP:
        return source
    if size == FUNCTION:
        return _of_functions(source, whole)
    if size == FILE:
        return _of_file(source, exports, carried)
    raise ValueError(f"there is no size {size!r}; there are {', '.join(SIZES)}")


def lines_to_write(source: Source) -> int:
    """How many lines of code the solution has in all blanks together."""
    return sum(_code(blank.solution) for blank in source.blanks)


def _code(lines: Sequence[str]) -> int:
    """Lines that are no comments, and no docstrings."""
    count, inside = 0, False
    for line in lines:
        bare = line.strip()
        quotes = bare.count('"""')
        if inside or bare.startswith('"""'):
            inside = inside ^ (quotes == 1)
        elif bare and not bare.startswith("#"):
            count += 1
    return count


def about(lines: Sequence[str]) -> str:
    """(about 5 lines)"""
    count = _code(lines)
    return f"(about {count} line{'s' * (count != 1)})"


# -------------------------------------------------------------------------------------- function


def functions(tree: ast.Module | ast.ClassDef, above: str = "") -> Iterator[tuple[str, Function]]:
    """Functions and methods with their names, as `Office.join`; no functions within functions."""
    for node in tree.body:
        if isinstance(node, Function):
            yield above + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{above}{node.name}.")


def around(text: str, line: int) -> str:
    """`Office.join: the first line of its docstring` of the function around a line; "" if there is none."""
    try:
        every = [*functions(ast.parse(text))]
    except (SyntaxError, ValueError):
        return ""
    inside = [(name, node) for name, node in every if node.lineno <= line <= (node.end_lineno or 0)]
    return ": ".join(filter(None, [inside[0][0], summary(inside[0][1])])) if inside else ""


def imported(node: ast.AST) -> list[str]:
    """The names of the modules that a statement imports, or imports from."""
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [one.name for one in node.names] if isinstance(node, ast.Import) else []


def body_of(function: Function, lines: Sequence[str]) -> tuple[int, int]:
    """The first line of its body behind the docstring, from 0, and the line behind its last."""
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        begin = first.end_lineno or first.lineno
    else:  # behind the line that ends the head
        begin = function.lineno - 1
        while not lines[begin].split("  #")[0].rstrip().endswith(":"):
            begin += 1
        begin += 1
    return begin, function.end_lineno or function.lineno


def _placed(source: Source) -> tuple[list[str], list[tuple[int, int, Blank]]]:
    """The lines of the solution, and which of them each blank has: from the first to before the last."""
    lines: list[str] = []
    places = []
    for part in source.parts:
        if isinstance(part, str):
            lines.append(part)
        else:
            places.append((len(lines), len(lines) + len(part.solution), part))
            lines += part.solution
    return lines, places


def _of_functions(source: Source, whole: tuple[str, ...]) -> Source:
    lines, places = _placed(source)
    regions: dict[int, tuple[int, Blank]] = {}  # by first line
    for name, function in functions(ast.parse("\n".join(lines) + "\n")):
        begin, end = body_of(function, lines)
        inside = [place for place in places if begin <= place[0] < end]
        if inside or name in whole:
            regions[begin] = end, _whole_body(name, function, tuple(lines[begin:end]), inside)
            places = [place for place in places if place not in inside]
    regions |= {begin: (end, blank) for begin, end, blank in places}
    parts: list[str | Blank] = []
    at = 0
    for number, (begin, (end, blank)) in enumerate(sorted(regions.items()), 1):
        parts += [*lines[at:begin], replace(blank, number=number)]
        at = end
    return Source((*parts, *lines[at:]))


def _whole_body(name: str, function: Function, body: tuple[str, ...], inside: list[tuple[int, int, Blank]]) -> Blank:
    """The blank for a whole body; `inside` are the gaps in it."""
    indent = " " * (function.col_offset + 4)
    gaps = [blank for _, _, blank in inside if not blank.instead]
    if len(gaps) == 1 and gaps[0].indent == indent and gaps[0].solution == body:
        return gaps[0]  # this gap is the whole body
    more = []
    for _, _, blank in inside:
        said = [f"- {COUNT.sub('', blank.task)}"]
        said += [f"  {line.strip().removeprefix('#').strip()}" for line in blank.more]
        if blank.instead:  # the task speaks of these lines
            said += ["  Not like this:", *(f"    {line[len(blank.indent) :]}" for line in blank.instead)]
        more += [part for line in said for part in _folded(f"{indent}# {line}")]
    return Blank(0, f"the whole of {name} {about(body)}", indent, tuple(more), body, ())


def _folded(comment: str) -> list[str]:
    """A comment in several lines, if it is too long for one."""
    mark = re.match(r"\s*#\s*(- )?", comment)
    assert mark is not None, "a comment begins with #"
    return folded(comment, mark[0].replace("-", " ")) if len(comment) > COLUMNS else [comment]


# ----------------------------------------------------------------------------------------- hints


def hints(source: Source, size: str, whole: Sequence[str], given: Sequence[str], lesson: float) -> list[str]:
    """The three hints of a lesson, with what they lack where more is blank than gaps."""
    if size == GAP:
        return [*given]
    nudge, plan, near = given
    if size == FILE:
        nudge += f"\n\nThe size *function* gives all the rest of the file: `mtd size {lesson} function`."
    grown = _grown(source, whole)
    if grown:
        plan += "\n\n" + "\n".join(f"- {_outline(name, node)}" for name, node, _ in grown)
        code = "\n\n".join(shown for _, _, shown in grown)
        near += f"\n\nThese lines stand around it in the size *gap*:\n\n```python\n{code}\n```"
    return [nudge, plan, near]


def _grown(source: Source, whole: Sequence[str]) -> list[tuple[str, Function, str]]:
    """The functions of which more is blank than a gap: name, ours, and ours with `...` in the gaps."""
    right = dict(functions(ast.parse(source.solution())))
    text = source.filled({blank.number: ("...",) for blank in source.blanks})
    lines, found = text.split("\n"), []
    for name, node in functions(ast.parse(text)):
        begin, end = body_of(node, lines)
        body = [line for line in lines[begin:end] if not line.strip().startswith("#")]
        has_gap = any("# BLANK" in line for line in lines[begin:end])
        if (has_gap and len(body) > 1) or name in whole:
            kept = [line for line in lines[node.lineno - 1 : end] if line.strip() != END]
            if name in whole:  # all of it: only how it is divided
                kept = [line for line in kept if line.rstrip().endswith(":")]
            found.append((name, right[name], textwrap.dedent("\n".join(kept))))
    return found


def _outline(name: str, function: Function) -> str:
    """How long ours is, its loops, and the names that it calls."""
    inside = [*ast.walk(function)]
    loops = sum(isinstance(node, ast.For | ast.While) for node in inside)
    calls = [ast.unparse(node.func) for node in inside if isinstance(node, ast.Call)]
    called = ", ".join(f"`{call}`" for call in dict.fromkeys(calls) if len(call) < 40)
    lines = "\n".join(map(ast.unparse, function.body)).split("\n")
    many = len(lines) - (ast.get_docstring(function) is not None)
    said = f"`{name}`: ours has about {many} lines"
    said += f" and {loops} loop{'s' * (loops > 1)}" if loops else ""
    return said + (f"; it calls {called}" if called else "")


# ------------------------------------------------------------------------------------------ file


def statements(text: str) -> list[tuple[ast.stmt, int, int]]:
    """The statements of a module, each with its first line, from 0, and the line behind its last.

    Comments above a statement belong to it, but no line that separates sections.
    """
    lines, found, at = text.split("\n"), [], 0
    for node in ast.parse(text).body:
        begin = first_line(node) - 1
        while begin > at and lines[begin - 1].startswith("#") and not _separates(lines[begin - 1]):
            begin -= 1
        at = node.end_lineno or node.lineno
        found.append((node, begin, at))
    return found


def first_line(node: ast.stmt) -> int:
    """Of a statement with its decorators, from 1."""
    marks: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(mark.lineno for mark in marks)])


def words_of(node: ast.AST, how: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """The names in it; `how`: only those that are read (`ast.Load`), or set (`ast.Store`)."""
    found = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    return {one.id for one in found if isinstance(one.ctx, how)}


def _separates(line: str) -> bool:
    return line.startswith("# ---")


def names_of(node: ast.stmt) -> set[str]:
    """The names that a statement of a module gives something to."""
    if isinstance(node, Function | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).partition(".")[0] for one in node.names}
    return words_of(node, ast.Store)


def given_nodes(tree: ast.Module) -> list[ast.stmt]:
    """The statements that stay in the size file: docstring, imports, constants, and records without functions."""
    known, found = {*dir(builtins)}, []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(node):
            pass
        elif isinstance(node, ast.Assign | ast.AnnAssign) or (
            isinstance(node, ast.ClassDef) and not any(isinstance(one, Function) for one in ast.walk(node))
        ):
            if words_of(node, ast.Load) - known - words_of(node, ast.Store):
                continue
        else:
            continue
        known |= names_of(node)
        found.append(node)
    return found


def _is_docstring(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _of_file(source: Source, exports: tuple[str, ...], carried: frozenset[str]) -> Source:
    lines, places = _placed(source)
    text = "\n".join(lines) + "\n"
    found = statements(text)
    stays = {node.lineno for node in given_nodes(ast.parse(text))}
    blank_lines = {line for begin, end, _ in places for line in range(begin, end)}
    given: list[str] = []
    rest: list[str] = []
    asked: list[str] = []
    helpers: list[str] = []
    before: ast.stmt | None = None  # the given one before this
    last = 0  # behind the statement before this
    is_next = False
    for node, begin, end in found:
        gap = [line for line in lines[last:begin] if not line.strip()]
        last = end
        if node.lineno in stays and not blank_lines & {*range(begin, end)}:
            given += _space(before, node, is_next, gap) + lines[begin:end]
            before, is_next = node, True
            continue
        is_next = False
        names = names_of(node)
        if names and names <= carried:
            continue
        rest += ["", "", *lines[begin:end]] if rest else lines[begin:end]
        if names & {*exports}:
            asked += ["#", *contract(node, text)]
        else:
            helpers += [f"#     {line}" for line in in_short(node)]
    more = [*asked[1:]]
    if helpers:
        more += ["#", "# Ours has these besides, and yours need not have them:", *helpers]
    more = [part for line in more for part in _folded(line)]
    task = f"all of this, as the comments ask for it {about(rest)}"
    return Source((*given, "", "", Blank(1, task, "", tuple(more), tuple(rest), ())))


def _space(before: ast.stmt | None, node: ast.stmt, is_next: bool, gap: list[str]) -> list[str]:
    """The empty lines above a given statement: those of the source, if nothing was taken out in between."""
    if before is None:
        return []
    if is_next:
        return gap
    return ["", ""] if isinstance(before, ast.ClassDef) or isinstance(node, ast.ClassDef) else [""]


def asked_for(source: Source, exports: Sequence[str]) -> dict[str, str]:
    """The exported names that are no given ones, each as `a function all_reduce(tensor)` or `a class Once`."""
    text = source.solution()
    tree = ast.parse(text)
    return {
        name: _kind(node)
        for node in tree.body
        if not isinstance(node, ast.Import | ast.ImportFrom)
        for name in sorted(names_of(node) & {*exports})
    }


def absent(text: str, source: Source, exports: Sequence[str]) -> list[str]:
    """The names that are asked for and that no statement of this text gives, in words."""
    tree = ast.parse(text)
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    if any(node.names[0].name == "*" for node in froms):
        return []
    there = {name for node in _at_top(tree) for name in names_of(node)}
    return [said for name, said in asked_for(source, exports).items() if name not in there]


def _at_top(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a module, and those under its `if`, `try`, `for` and `with`."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.stmt):
            yield one
        if not isinstance(one, Function | ast.ClassDef | ast.Lambda):
            yield from _at_top(one)


def completed(text: str, source: Source, exports: Sequence[str]) -> str:
    """A text with those of our statements behind it that give names which it lacks, and which others or these use."""
    ours = source.solution()
    lines, found = ours.split("\n"), statements(ours)
    there = {name for node in _at_top(ast.parse(text)) for name in names_of(node)}
    added = needed({*exports}, [node for node, _, _ in found if not names_of(node) <= there])
    behind = [["", "", *lines[begin:end]] for node, begin, end in found if node in added]
    return text.rstrip("\n") + "\n" + "".join(f"{line}\n" for part in behind for line in part)


def needed(wanted: set[str], among: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements that give these names something, and those that give what they use in turn."""
    found: list[ast.stmt] = []
    while more := [node for node in among if node not in found and names_of(node) & wanted]:
        found += more
        wanted = wanted.union(*map(words_of, more))
    return found


def members_of(source: Source) -> dict[tuple[str, str], str]:
    """By class and name: `a method take(number, letter)` and the first line of its docstring."""
    return {
        (one.name, method.name): f"a method {signature(method, is_method=True)}{_first_line(method)}"
        for one in ast.parse(source.solution()).body
        if isinstance(one, ast.ClassDef)
        for method in one.body
        if isinstance(method, Function)
    }


def _kind(node: ast.stmt) -> str:
    if isinstance(node, Function):
        return f"a function {signature(node)}"
    if isinstance(node, ast.ClassDef):
        return f"a class {node.name}"
    return f"a name {ast.unparse(node).partition(' = ')[0]}"


def signature(function: Function, is_method: bool = False) -> str:
    """`all_reduce(tensor, op=dist.ReduceOp.SUM)`; of a property only the program: what is drawn is the learner's."""
    said = ast.unparse(function.args)
    if any(map(_draws, function.decorator_list)):
        said = f"{function.args.args[0].arg}, …"
    if is_method:
        said = re.sub(r"^(self|cls)(, )?", "", said)
    return f"{function.name}({said})"


def _first_line(node: Function | ast.ClassDef) -> str:
    said = summary(node)
    return f": {said}" if said else ""


def contract(node: ast.stmt, text: str) -> list[str]:
    """In comments: a name, its arguments, and the promise of its docstring; of a class its attributes and methods, too."""
    if isinstance(node, Function):
        return [*_marked(node), f"# {signature(node)}", *_said(node, 4)]
    if not isinstance(node, ast.ClassDef):
        return [f"# {line}" for line in (ast.get_source_segment(text, node) or "").split("\n")]
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    lines = [*_marked(node), f"# class {node.name}{f'({bases})' if bases else ''}", *_said(node, 4)]
    for one in node.body:
        if isinstance(one, Function):
            if one.name == "__repr__":
                continue
            lines += ["#", *_marked(one, 4), f"#     {signature(one, is_method=True)}"]
            lines += _said(one, 8)
            if one.name == "__init__":
                lines += [f"#         {line}" for line in _attributes(one, text)]
        elif not _is_docstring(one):
            lines += [f"#     {line}" for line in ast.unparse(one).split("\n")]
    return lines


def _marked(node: Function | ast.ClassDef, indent: int = 0) -> list[str]:
    marks = [mark for mark in node.decorator_list if not _draws(mark)]
    return [f"# {' ' * indent}@{ast.unparse(mark)}" for mark in marks]


def _draws(mark: ast.expr) -> bool:
    """Whether it is Hypothesis's @given(…)."""
    return isinstance(mark, ast.Call) and ast.unparse(mark.func) == "given"


def _said(node: Function | ast.ClassDef, indent: int) -> list[str]:
    said = ast.get_docstring(node) or ""
    return [f"# {' ' * indent}{line}".rstrip() for line in said.split("\n")] if said else []


def _attributes(init: Function, text: str) -> list[str]:
    """The lines of `__init__` that set attributes."""
    found = []
    for one in init.body:
        targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
        if any(
            isinstance(target, ast.Attribute) and target.attr and ast.unparse(target).startswith("self.")
            for each in targets
            if each is not None
            for target in ast.walk(each)
        ):
            found += textwrap.dedent("\n".join(text.split("\n")[one.lineno - 1 : one.end_lineno])).split("\n")
    return found


def in_short(node: ast.stmt) -> list[str]:
    """One line of a helper: its head, and the first line of its docstring."""
    if isinstance(node, Function):
        lines = [signature(node), _first_line(node).removeprefix(": ")]
    elif isinstance(node, ast.ClassDef):
        lines = [f"class {node.name}", _first_line(node).removeprefix(": ")]
    else:
        lines = [ast.unparse(node).partition("\n")[0], ""]
    joined = ": ".join(filter(None, lines))
    return textwrap.wrap(joined, WIDTH, subsequent_indent="    ") if lines[1] else [joined]
