"""`launch` and `spawn` from a notebook's cells, where no other process can import what was typed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

if find_spec("nbclient") is None or find_spec("ipykernel") is None:
    pytest.skip("needs nbclient and ipykernel", allow_module_level=True)

CELLS = [
    """
import minitorch_dist as torch, minitorch_dist.distributed as dist, minitorch_dist.multiprocessing as mp
from pathlib import Path
SCALE = 10
class Scaled(torch.nn.Module):
    def forward(self, x): return x * SCALE
def sum_of(model, x):
    t = torch.ones(2) * (dist.get_rank() + x)
    dist.all_reduce(t)
    return model(t).tolist()
def write(i, folder):
    Path(folder, str(i)).write_text(str(type(Scaled()).__name__))
def fail(i): raise ValueError(f"no {i}")
for transport in ["queue://", "sim://", "tcp://", "file://", "mqtt://"]:
    print(torch.launch(sum_of, 2, transport, args=(Scaled(), 1)))
""",
    "print(torch.launch(Scaled, 1, 'tcp://'))",
    "import tempfile\nwith tempfile.TemporaryDirectory() as folder:\n    mp.spawn(write, (folder,), 2)\n"
    "    print(sorted((p.name, p.read_text()) for p in Path(folder).iterdir()))",
    "mp.spawn(fail, nprocs=1)",
    "def around(k):\n    def inner(): return k\n    return torch.launch(inner, 1, 'tcp://')\nprint(around(3), end='')",
    "print(torch.launch(lambda: 1, 1, 'tcp://'), end='')",
    "class Bare: pass\ntorch.launch(sum_of, 1, 'tcp://', args=(Bare(), 1))",
]


PRINTING = """
import logging, sys, traceback, warnings
import minitorch_dist as torch, minitorch_dist.distributed as dist
from minitorch_dist import sim
from rich.console import Console
def program():
    rank = dist.get_rank()
    print(f"print {rank}", flush=True)
    print(f"error {rank}", file=sys.stderr, flush=True)
    logging.warning("log %d", rank)
    warnings.warn(f"warning {rank}", stacklevel=1)
    sys.stderr.write(f"\\rbar {rank}"); sys.stderr.flush()
    Console(force_jupyter=False, highlight=False).print(f"rich {rank}")
    try: 1 / 0
    except ZeroDivisionError: traceback.print_exc(limit=1); logging.exception("logged %d", rank)
    dist.all_reduce(torch.ones(1))
"""
WAYS = [
    *(f"sim.run(program, 3, engine={name!r})" for name in ("threads", "greenlet", "lockstep", "closed")),
    "torch.launch(program, 3, 'sim://')",
    "torch.launch(program, 3)",
    "sim.explore(program, 3, seeds=2)",
]

# nbclient leaves sockets in its process, so it gets one of its own.
RUN = """
import json, sys, nbclient, nbformat
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in json.load(sys.stdin)])
nbclient.NotebookClient(book, allow_errors=True, timeout=100).execute()
json.dump(
    ["".join(o.get("text", "") + o.get("evalue", "") for o in cell.outputs) for cell in book.cells],
    sys.stdout,
)
"""


@pytest.mark.slow
def test_cells() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(CELLS), capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    assert said[0].split("\n")[:5] == ["[[30.0, 30.0], [30.0, 30.0]]"] * 5
    assert said[1] == "[Scaled()]\n"
    assert said[2] == "[('0', 'Scaled'), ('1', 'Scaled')]\n"
    assert "in fail" in said[3] and "ValueError: no 0" in said[3]
    assert said[4:6] == ["[3]", "[1]"]
    assert "Bare" in said[6] and "put it into a module" in said[6]


@pytest.mark.slow
def test_ranks_print_and_log() -> None:
    """The streams of a kernel are served by threads of its own, and `flush` waits for them."""
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps([PRINTING, *WAYS]), capture_output=True, text=True, check=True
    )
    for way, said in zip(WAYS, json.loads(done.stdout)[1:], strict=True):
        assert "Logging error" not in said and "DistError" not in said and "rank 0 called" not in said, said
        for rank in range(3):
            for words in ("print", "error", "log", "warning", "bar", "rich", "logged"):
                assert f"{words} {rank}" in said, (way, words, said)
        assert "ZeroDivisionError" in said
