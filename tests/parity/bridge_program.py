"""One rank of many bridges, one after the other, in torch or here; what each printed, as JSON.

    python -m tests.parity.bridge_program torch 0 FOLDER 05_mailboxes:41001 13_ring:41002

The library is imported once. Each bridge runs in a forked process, since torch has one RPC in the life of a process. It
is a module of its own, so what it defines can be sent by name, and it has a port of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import sys
import traceback
from pathlib import Path

from mtd.course.bridging import SIZE, ours
from mtd.course.lesson import BRIDGE, ROOM

PARTS = ("distributed.rpc", "distributed.fsdp", "distributed.optim", "distributed.pipelining")


def main(library: str, rank: str, folder: str, *wanted: str) -> int:
    own = Path(folder) / rank
    own.mkdir()
    os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=str(SIZE), MASTER_ADDR="127.0.0.1", TMPDIR=folder)
    for part in PARTS:
        importlib.import_module(f"{library}.{part}")
    for one in wanted:
        name, _, port = one.partition(":")
        child = os.fork()
        if child == 0:
            os.environ["MASTER_PORT"] = port
            os._exit(carried_out(library, name, own))
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            print(f"{name}, rank {rank} of {library} failed", file=sys.stderr)
            return 1
    said = {path.stem: json.loads(path.read_text("utf-8")) for path in own.glob("*.json")}
    (Path(folder) / f"{rank}.json").write_text(json.dumps(said), "utf-8")
    return 0


def carried_out(library: str, name: str, own: Path) -> int:
    """In the forked process: its exit status."""
    text = (ROOM / name / BRIDGE).read_text("utf-8")
    file = own / f"bridge_{name}.py"
    file.write_text(text if library == "torch" else ours(text), "utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            spec.loader.exec_module(module)
    except BaseException:
        print(traceback.format_exc(), file=sys.stderr, flush=True)
        return 1
    (own / f"{name}.json").write_text(json.dumps(printed.getvalue()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
