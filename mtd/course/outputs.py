"""The outputs of a notebook's cells, which are stored so that a reader of the repository's page sees pictures.

They are kept as long as the code cells are the same. Else the notebook runs in a kernel, which takes nbclient. In the one with
blanks, cells that stand in the solution's, too, show what they show there: the pictures of what is to be written.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from transports import keeper

LIMIT: Final = 600  # seconds for a cell
COLOURS: Final = 32
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
NO_BOOK: Final = '{"cells": []}'
Cell = dict[str, Any]


def code_cells(text: str) -> list[Cell]:
    return [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]


def are_there(text: str) -> bool:
    """Whether the notebook has run."""
    return all(cell["execution_count"] is not None for cell in code_cells(text))


def can_be_made() -> bool:
    return all(map(find_spec, ("nbclient", "ipykernel", "matplotlib")))


def kept(text: str, stored: str, solution: str = NO_BOOK) -> str:
    """The notebook with the outputs of the stored one, if the code cells are the same, and with the solution's."""
    new, old = _own(text, solution), _own(stored, solution)
    are_same = [cell["source"] for cell in old] == [cell["source"] for cell in new]
    return _with(text, old if are_same else new, solution)


def made(text: str, solution: str = NO_BOOK) -> str:
    """The notebook after its run, and with the solution's outputs."""
    return _with(text, _run(_own(text, solution)), solution)


def _source(cell: Cell) -> str:
    return "".join(cell["source"])


def _shown(solution: str) -> dict[str, Cell]:
    return {_source(cell): cell for cell in code_cells(solution)}


def _own(text: str, solution: str) -> list[Cell]:
    """The code cells that are not the solution's."""
    shown = _shown(solution)
    return [cell for cell in code_cells(text) if _source(cell) not in shown]


def _with(text: str, own: Sequence[Cell], solution: str) -> str:
    """The notebook with the outputs of its own cells, and with the solution's."""
    book, shown, rest = json.loads(text), _shown(solution), iter(own)
    for number, cell in enumerate((cell for cell in book["cells"] if cell["cell_type"] == "code"), 1):
        found = shown.get(_source(cell)) or next(rest)
        has_run = found["execution_count"] is not None
        cell["execution_count"] = number if has_run else None
        cell["outputs"] = [_numbered(output, number) for output in found["outputs"]]
    return json.dumps(book, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _numbered(output: Cell, number: int) -> Cell:
    return {**output, "execution_count": number} if "execution_count" in output else output


def _run(cells: Sequence[Cell]) -> list[Cell]:
    """Run the cells in a kernel, in an empty folder, as somebody who begins the course."""
    import nbclient
    import nbformat

    v4: Any = nbformat.v4
    book = v4.new_notebook(cells=[v4.new_code_cell(_source(cell)) for cell in cells])
    with keeper.temporary_folder("mtd-") as folder:
        how = {"metadata": {"path": folder}}
        client = nbclient.NotebookClient(book, timeout=LIMIT, record_timing=False, coalesce_streams=True, resources=how)
        # `client.execute` would leave an event loop open, with its sockets
        asyncio.run(client.async_execute(env={**os.environ, "XDG_STATE_HOME": str(folder), "PYTHONHASHSEED": "0"}))
    return [_plain(cell, Path(folder)) for cell in book.cells]


def _plain(cell: Any, folder: Path) -> Cell:
    """An executed cell as a file has it, without what differs from run to run."""
    written = json.loads(ADDRESS.sub("", json.dumps(cell)))
    if str(folder) in json.dumps(written):
        raise ValueError(f"a cell shows where it ran: {cell.source}")
    for output in written["outputs"]:
        for kind, data in output.get("data", {}).items():
            if kind == "image/png":
                output["data"][kind] = small(data)
            elif isinstance(data, str):
                output["data"][kind] = data.splitlines(keepends=True)
        if isinstance(output.get("text"), str):
            output["text"] = output["text"].splitlines(keepends=True)
    return {"execution_count": written["execution_count"], "outputs": written["outputs"]}


def small(png: str) -> str:
    """A plot in few colours takes a fourth of the bytes. (matplotlib brings PIL.)"""
    from PIL import Image

    found, made = Image.open(io.BytesIO(base64.b64decode(png))), io.BytesIO()
    plain = found.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    plain.save(made, "PNG", optimize=True)
    return base64.b64encode(made.getvalue()).decode()
