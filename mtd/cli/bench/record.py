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
    lines = zip(
        *([Text.from_markup(str(cell)).plain for cell in one.cells] for one in table.columns), strict=True
    )
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
    words = list(sys.argv[1:])
    if "--out" in words:
        del words[words.index("--out") : words.index("--out") + 2]
    return " ".join(["mtd bench", bench, *(word for word in words if not word.startswith("--out="))])


def kept(path: Path, bench: str, rows: dict[str, dict[str, Any]]) -> str:
    """The text of a data file with these rows in the place of those that it had, one row a line."""
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    found[bench] = {**found.get(bench, {}), **rows}
    parts = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(what, ensure_ascii=False)}: {json.dumps(row, ensure_ascii=False)}"
            for what, row in some.items()
        )
        + "\n}"
        for name, some in found.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"
