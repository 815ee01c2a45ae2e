"""`mtd bench … --out FILE`: measured rows with their date, the machine's kind of processor, and the command.

docs/speed.json is such a file, of which `mtd dev build` makes the page of benchmarks.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from transports import keeper

OPTION = "--out FILE: path  add the rows to this file, as JSON with date and processor; docs/speed.json makes the page of benchmarks"

Rows = dict[str, dict[str, str]]


def rows_of(table: Table, names: int = 1) -> Rows:
    """The rows of a printed table: its first columns name a row, and the others are its cells."""
    heads = [str(column.header) for column in table.columns]
    columns = [[Text.from_markup(str(cell)).plain for cell in one.cells] for one in table.columns]
    lines = zip(*columns, strict=True)
    return {", ".join(line[:names]): dict(zip(heads[names:], line[names:], strict=True)) for line in lines}


def keep(path: Path | None, bench: str, rows: Rows) -> None:
    """Write them into the file, if one is asked for. Rows of other names are left."""
    if path is None or not rows:
        return
    origin = {"date": date.today().isoformat(), "machine": machine(), "command": command(bench)}
    text = kept(path, bench, {what: {**origin, "cells": cells} for what, cells in rows.items()})
    with keeper.replacing(path) as file:
        file.write(text.encode())


def machine() -> str:
    """How many cores of which kind; nothing that names this one machine."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.+)$", info.read_text("utf-8"), re.M) if info.exists() else None
    kind = re.sub(r"\((?:R|TM)\)", "", found[1]) if found else platform.processor() or platform.machine()
    return f"{os.cpu_count()} cores of {' '.join(kind.split())}"


def command(bench: str) -> str:
    words = re.sub(r" --out[= ]\S+", "", " ".join(["", *sys.argv[1:]]))
    return f"mtd bench {bench}{words}"


def kept(path: Path, bench: str, rows: dict[str, dict[str, Any]]) -> str:
    """The text of a data file with these rows in the place of those that it had, one row a line."""
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    found[bench] = {**found.get(bench, {}), **rows}
    written = partial(json.dumps, ensure_ascii=False)
    parts = []
    for name, some in found.items():
        lines = ",\n".join(f"  {written(what)}: {written(row)}" for what, row in some.items())
        parts.append(f"{written(name)}: {{\n{lines}\n}}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
