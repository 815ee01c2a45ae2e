"""docs/whole_stack.md and mystack/README.md: what our solutions assemble to, as a page and as a table of its files."""

from __future__ import annotations

import ast
import math

from mtd.course.assembling import FACE, modules_of
from mtd.course.code_lines import code_lines
from mtd.course.lesson import ROOM

TOP = """# The whole stack, from top to bottom

This is a distributed training stack in {lines:,} lines of plain code. It needs numpy and Python's standard library. It has tensors, autograd,
an optimizer, messages, wires, collectives, data parallel and sharded training, remote calls, pipelines and checkpoints. In the
[course](course.md) you write its heart yourself. Made by `mtd dev build` from our solutions, as is the same code in [mystack](../mystack).

The page has {page:,} lines, with explanations and empty lines: {sheets} pages of 60 lines. Around them are {given:,} more lines of
code, which are given and not shown here.

    python -m mystack train --ranks 4              # reads digits, in four processes over TCP
    python -m mystack train --ranks 3 --wire file --kill 1@20
    python -m mystack train --wire mqtt --broker 127.0.0.1:1883     # mtd broker --open --port 1883
    python -m mystack train --ranks 4 --here 2 --host 192.168.1.5     # on two machines: it says what to type on the other
    python -m mystack fsdp --ranks 3               # and zero, pipeline, tensor, experts, server
    python -m mystack rpc --ranks 3                # calls, references, gradients across ranks
    python -m mystack examine --ranks 3            # a small question to each module

Every run ends with the weights that one rank has, bit for bit. Each module below is a lesson. Begin with *Backwards, in the right order*
if you know tensors, and with the ring if you know autograd. The modules around the lessons are given; the [last table](#given) lists it.
"""

GIVEN = """
## Given

`mystack/face` is what the modules import besides each other, {lines:,} lines of code.

| module | what it is |
|---|---|
"""


FOLDER = """# The stack in its smallest form

Read these {count} files first, in this order: together they are a distributed training stack, in {lines:,} lines of code. Each is our solution
of a lesson, and [the lesson](../lessons/README.md) explains it. `mtd dev build` writes this folder. Around the files lies what is given, in
[face](face), {given:,} more lines that need not be read. It needs numpy only:

    python -m mystack train --ranks 4              # reads digits, in four processes over TCP; some seconds
    python -m mystack examine --ranks 3            # a small question to each module

[The same on one page](../docs/whole_stack.md) has more to try.

| lesson | file | question |
|---|---|---|
"""


def folder_page() -> str:
    """The page of the folder mystack: its files, in the order of the lessons."""
    modules = modules_of(None)
    rows = [
        f"| {one.lesson.number} | [{one.lesson.file}]({one.lesson.file}) | {one.lesson.question} |\n" for one in modules
    ]
    facts = {"count": len(modules), "lines": sum(one.lines for one in modules), "given": _given_lines()}
    return FOLDER.format(**facts) + "".join(rows)


def _given_lines() -> int:
    return sum(code_lines(path.read_text("utf-8")) for path in (ROOM / FACE).glob("[a-z]*.py"))


def stack_page() -> str:
    """Every module of the reference, under its lesson's name, and a table of what is given."""
    modules = modules_of(None)
    given = {path.name: path.read_text("utf-8") for path in sorted((ROOM / FACE).glob("[a-z]*.py"))}
    face = _given_lines()
    parts, part = [TOP], ""
    for one in modules:
        lesson = one.lesson
        if lesson.part != part:
            part = lesson.part
            parts.append(f"\n## {part}\n")
        parts.append(
            f"\n### {lesson.number}. {lesson.title}\n\n{lesson.question} ([the lesson](../lessons/{lesson.folder.name}/text.md))\n\n"
            f"```python\n# {lesson.file}\n{one.text}```\n"
        )
    parts.append(GIVEN.format(lines=face))
    for name, text in given.items():
        said = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
        parts.append(f"| [{name}](../lessons/{FACE}/{name}) | {said.replace('|', chr(92) + '|')} |\n")
    text = "".join(parts)
    page = text.count("\n")
    facts = {"lines": sum(one.lines for one in modules), "given": face, "page": page}
    return text.replace(TOP, TOP.format(**facts, sheets=math.ceil(page / 60)), 1)
