"""The outputs of a notebook's cells, which are stored so that a reader of the repository's page sees pictures.

Outputs are kept as long as the code cells are the same. Else the notebook runs, in a kernel (which takes nbclient): that with
the solution wholly; of the one with blanks what can run with blanks, and the rest shows what the solution's cells show.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from transports import keeper

LIMIT: Final = 600  # seconds for a cell
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
Cell = dict[str, Any]


def code_cells(text: str) -> list[Cell]:
    return [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]


def are_there(text: str) -> bool:
    """Whether the notebook has run."""
    return all(cell["execution_count"] is not None for cell in code_cells(text))


def kept(text: str, stored: str) -> str:
    """The notebook with the outputs of the stored one, if their code cells are the same."""
    old = code_cells(stored)
    if [cell["source"] for cell in old] != [cell["source"] for cell in code_cells(text)]:
        return text
    return _with(text, old)


def made(text: str, solution: str | None = None) -> str:
    """The notebook after its run. With a solution's: the cells that are there, too, show what they show there."""
    shown = {"".join(cell["source"]): cell for cell in code_cells(solution or '{"cells": []}')}
    cells = code_cells(text)
    own = [cell for cell in cells if "".join(cell["source"]) not in shown]
    ran = iter(_run(own))
    return _with(text, [shown.get("".join(cell["source"])) or next(ran) for cell in cells])


def _with(text: str, outputs: Sequence[Cell]) -> str:
    book = json.loads(text)
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    for number, (cell, found) in enumerate(zip(cells, outputs, strict=True), 1):
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

    code = [{"cell_type": "code", "metadata": {}, "source": cell["source"]} for cell in cells]
    written = {"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    book = nbformat.reads(json.dumps(written), 4)  # type: ignore[no-untyped-call]
    with keeper.temporary_folder("mtd-") as folder:
        client = nbclient.NotebookClient(
            book,
            timeout=LIMIT,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )
        client.execute(env={**os.environ, "XDG_STATE_HOME": folder, "PYTHONHASHSEED": "0"})
    return [_plain(cell, Path(folder)) for cell in book.cells]


def _plain(cell: Any, folder: Path) -> Cell:
    """An executed cell as a file has it, without what differs from run to run."""
    written = json.loads(ADDRESS.sub("", json.dumps(cell)))
    if str(folder) in json.dumps(written):
        raise ValueError(f"a cell shows where it ran: {cell.source}")
    for output in written["outputs"]:
        for kind, data in output.get("data", {}).items():
            is_text = isinstance(data, str) and not kind.startswith("image/png")
            output["data"][kind] = data.splitlines(keepends=True) if is_text else data
        if isinstance(output.get("text"), str):
            output["text"] = output["text"].splitlines(keepends=True)
    return {"execution_count": written["execution_count"], "outputs": written["outputs"]}
