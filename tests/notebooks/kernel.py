"""Run a notebook's code cells in a real kernel, and print their outputs: `python -m tests.notebooks.kernel BOOK [FILE]`.

With a file, the kernel is interrupted as soon as that appears. A process of its own, since a client leaves sockets behind.
A text that shall stand in the place of a cell (`set_next_input`) is an output, too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel

LIMIT = 240  # seconds


def outputs(path: Path, *more: str) -> list[list[dict[str, Any]]]:
    """Of each code cell, with the notebook's folder as the current one."""
    command = [sys.executable, "-m", "tests.notebooks.kernel", str(path), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LIMIT)
    assert done.returncode == 0, done.stderr
    found: list[list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def words(found: list[dict[str, Any]]) -> str:
    """All outputs of a cell, as letters."""
    return "\n".join(
        str(one.get("text") or one.get("data", {}).get("text/plain") or one.get("evalue")) for one in found
    )


def main(path: str, note: str = "") -> None:
    book = json.loads(Path(path).read_text("utf-8"))
    manager, client = start_new_kernel(cwd=str(Path(path).parent))
    try:
        code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
        print(json.dumps([_run(manager, client, text, note) for text in code]))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _run(manager: Any, client: Any, code: str, note: str) -> list[dict[str, Any]]:
    asked, found, deadline = client.execute(code), [], time.monotonic() + LIMIT
    while True:
        assert time.monotonic() < deadline, f"this takes too long: {code}"
        if note and Path(note).exists():
            manager.interrupt_kernel()
            note = ""
        try:
            message = client.get_iopub_msg(timeout=0.1)
        except Exception as error:  # queue.Empty, or that of another version
            assert "Empty" in type(error).__name__, error
            continue
        if message["parent_header"].get("msg_id") != asked:
            continue
        if message["msg_type"] in ("stream", "execute_result", "display_data", "error"):
            found.append(message["content"])
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    reply = client.get_shell_msg(timeout=LIMIT)
    while reply["parent_header"].get("msg_id") != asked:  # to a question of the client's own
        reply = client.get_shell_msg(timeout=LIMIT)
    return [*found, *reply["content"].get("payload", [])]


if __name__ == "__main__":
    main(*sys.argv[1:])
