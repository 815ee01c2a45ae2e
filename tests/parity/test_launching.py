"""What workers find under torch's torchrun and under ours; how failures of processes are told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist.multiprocessing as mp
from tests.launching import acts
from tests.launching.agents import environment, written
from tests.ports import free_port

torch_mp = pytest.importorskip("torch.multiprocessing")

pytestmark = pytest.mark.parity

TELL = """
import json, os, sys
said = json.dumps([sys.argv[1:], dict(os.environ), __file__, __name__, sys.path[0], sys.stdout.write_through or sys.stdout.line_buffering])
os.write(1, (said + "\\n").encode())
"""
RANDOM = {"TORCHELASTIC_ERROR_FILE"}  # a folder's name


def workers_of(module: str, options: list[str]) -> list[Any]:
    """What each worker printed, without the variables that were there before."""
    before = {k: v for k, v in environment().items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-m", f"{module}.distributed.run", *options],
        env=before,
        timeout=110,
        capture_output=True,
        text=True,
        check=True,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    for each in said:
        each[1] = {k: v for k, v in each[1].items() if k not in before and k != "_"}
    return sorted(said, key=lambda each: int(each[1]["RANK"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, differ",
    [
        (["--standalone", "--nproc_per_node=2"], {"MASTER_PORT", "TORCHELASTIC_RUN_ID"}),
        (["--nnode=1", "--max-restarts=2", "--rdzv_id=7", "--master_port=PORT"], set()),
    ],
)
def test_the_environment_of_workers_is_torchruns(options: list[str], differ: set[str], tmp_path: Path) -> None:
    script = written(tmp_path, "tell.py", TELL)
    port = str(free_port())
    command = [option.replace("PORT", port) for option in options] + [str(script), "--lr", "1"]
    theirs, ours = workers_of("torch", command), workers_of("minitorch_dist", command)
    assert len(theirs) == len(ours)
    for their, our in zip(theirs, ours, strict=True):
        assert [*their[:1], *their[2:]] == [*our[:1], *our[2:]]
        extra = set(our[1]) - set(their[1])
        assert set(their[1]) <= set(our[1]) and all(n.startswith("MINITORCH_DIST_") for n in extra)
        compared = set(their[1]) - differ - RANDOM
        assert {n: our[1][n] for n in compared} == {n: their[1][n] for n in compared}
        assert (
            Path(our[1]["TORCHELASTIC_ERROR_FILE"]).parts[-3:] == Path(their[1]["TORCHELASTIC_ERROR_FILE"]).parts[-3:]
        )


@pytest.mark.parametrize("how", [3, -9, -10])
def test_an_exit_is_told_as_torch_tells_it(how: int) -> None:
    said = []
    for module in (torch_mp, mp):
        with pytest.raises(module.ProcessExitedException) as caught:
            module.start_processes(acts.leave, (how,), 2, start_method="fork")
        error = caught.value
        said.append((str(error), error.exit_code, error.signal_name, error.error_index))
    assert said[0] == said[1]


def test_an_exception_is_told_as_torch_tells_it(tmp_path: Path) -> None:
    said = []
    for module in (torch_mp, mp):
        with pytest.raises(module.ProcessRaisedException) as caught:
            module.start_processes(acts.fail, (0, str(tmp_path)), 1, start_method="fork")
        lines = str(caught.value).splitlines()
        said.append((lines[:4], lines[-2:], caught.value.error_index))
    assert said[0] == said[1]


def test_every_name_of_torchs_room_is_there() -> None:
    theirs = set(torch_mp.spawn.__globals__["__all__"]) - {"SpawnContext"}
    assert theirs <= set(dir(mp))
    left = {n for n in torch_mp.__all__ if not hasattr(mp, n)}
    assert left <= {
        "SpawnContext",
        "init_reductions",
        "allow_connection_pickling",
        "reducer",
        "set_forkserver_preload",
        "get_all_sharing_strategies",
        "get_sharing_strategy",
        "set_sharing_strategy",
    }
