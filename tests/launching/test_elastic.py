"""Several agents on one machine: killed, joined, too late; and training that goes on after it."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.launching.agents import QUICK, agents, run, written
from tests.launching.waiting import is_running, until
from tests.ports import free_port

# Says who it is in a file per generation, and ends when it is told to.
HOLD = """
import os, sys, time
from pathlib import Path
env, folder = os.environ, Path(sys.argv[1])
generation = env["MINITORCH_DIST_GENERATION"].rpartition("/")[2]
names = ("RANK", "WORLD_SIZE", "GROUP_RANK", "LOCAL_RANK", "GROUP_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")
said = " ".join(env[name] for name in names)
(folder / f"g{generation}.{env['RANK']}").write_text(f"{os.getpid()} {said}.")
while not (folder / "done").exists():
    time.sleep(0.02)
"""


def said(folder: Path, generation: int) -> list[list[int]]:
    """What each rank of a generation said: pid, rank, world, node, local rank, nodes, restarts."""
    files = folder.glob(f"g{generation}.*")
    texts = [file.read_text() for file in files]
    return sorted(
        ([int(word) for word in text.rstrip(".").split()] for text in texts if text.endswith(".")),
        key=lambda each: each[1],
    )


def finish(folder: Path, *running: Any) -> list[str]:
    (folder / "done").touch()
    outputs = [agent.communicate(timeout=300)[0] for agent in running]
    assert [agent.returncode for agent in running] == [0] * len(running), "\n".join(outputs)
    return outputs


def options(port: int, nodes: str, workers: int = 2, restarts: int = 0) -> list[Any]:
    return ["--nnodes", nodes, "--nproc-per-node", workers, "--max-restarts", restarts,
            "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}", "--rdzv-id", "job",
            "--rdzv-conf", QUICK]  # fmt: skip


@pytest.mark.slow
def test_a_node_joins_and_a_node_is_killed(tmp_path: Path) -> None:
    script = written(tmp_path, "hold.py", HOLD)
    with agents() as start:
        port = free_port()
        one = start(*options(port, "1:3"), script, tmp_path)
        until(lambda: len(said(tmp_path, 0)) == 2)
        assert [each[1:] for each in said(tmp_path, 0)] == [[0, 2, 0, 0, 1, 0], [1, 2, 0, 1, 1, 0]]
        two = start(*options(port, "1:3", 1), script, tmp_path)
        until(lambda: len(said(tmp_path, 1)) == 3)  # nobody failed, so no restart was counted
        assert [each[1:] for each in said(tmp_path, 1)] == [[0, 3, 0, 0, 2, 0], [1, 3, 0, 1, 2, 0], [2, 3, 1, 0, 2, 0]]
        assert not any(is_running(each[0]) for each in said(tmp_path, 0))
        two.kill()  # the agent; its workers die with it, and the others go on without
        until(lambda: len(said(tmp_path, 2)) == 2)
        assert [each[1:] for each in said(tmp_path, 2)] == [[0, 2, 0, 0, 1, 0], [1, 2, 0, 1, 1, 0]]
        assert not any(is_running(each[0]) for each in said(tmp_path, 1))
        [out] = finish(tmp_path, one)
    assert "was not heard of" in out and "came. All workers start again" in out


@pytest.mark.slow
def test_a_worker_is_killed_and_the_late_node_waits(tmp_path: Path) -> None:
    script = written(tmp_path, "hold.py", HOLD)
    with agents() as start:
        port = free_port()
        both = [start(*options(port, "2", 1, restarts=1), script, tmp_path) for _ in range(2)]
        until(lambda: len(said(tmp_path, 0)) == 2)
        late = start(*options(port, "2", 1, restarts=1), script, tmp_path)
        assert late.stdout is not None and "the job is full" in late.stdout.readline()
        os.kill(said(tmp_path, 0)[1][0], signal.SIGKILL)
        until(lambda: len(said(tmp_path, 1)) == 2)
        assert [each[1:] for each in said(tmp_path, 1)] == [[0, 2, 0, 0, 2, 1], [1, 2, 1, 0, 2, 1]]
        os.kill(said(tmp_path, 1)[0][0], signal.SIGKILL)  # once too often
        outputs = [agent.communicate(timeout=300)[0] for agent in [*both, late]]
    assert [agent.returncode for agent in [*both, late]] == [1, 1, 1]
    for out in outputs[:2]:  # also the node where nothing had happened tells what has
        assert re.search(r"rank      : 0 .*\n  exitcode  : -9 \(SIGKILL\)", out)
    assert "the job is over" in outputs[2]


@pytest.mark.slow
def test_a_static_rendezvous_has_the_ranks_that_were_given(tmp_path: Path) -> None:
    script = written(tmp_path, "hold.py", HOLD)
    (tmp_path / "done").touch()
    with agents() as start:
        port = free_port()
        both = [
            start("--nnodes", 2, "--node-rank", rank, "--nproc-per-node", 3 - rank, "--master-port",
                  port, "--rdzv-conf", QUICK, script, tmp_path)
            for rank in (1, 0)
        ]  # fmt: skip
        finish(tmp_path, *both)
    assert [each[1:6] for each in said(tmp_path, 0)] == [
        [0, 5, 0, 0, 2],
        [1, 5, 0, 1, 2],
        [2, 5, 0, 2, 2],
        [3, 5, 1, 0, 2],
        [4, 5, 1, 1, 2],
    ]


# ---------------------------------------------------------------------------------- training

# Trains, checkpoints after every step, and rank 1 of each generation dies once: before the step, in
# its collective (the others wait for it there), or between the step and the checkpoint.
TRAIN = """
import os, signal, sys
from pathlib import Path
import minitorch_dist as torch, minitorch_dist.distributed as dist
folder, deaths = Path(sys.argv[1]), sys.argv[2].split(",")
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dies_at = deaths[attempt] if attempt < len(deaths) else ""
def die(here):
    if rank == 1 and here == dies_at:
        os.kill(os.getpid(), signal.SIGKILL)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(8, 4), torch.randn(8, 1)
start, path = 0, folder / "checkpoint"
if path.exists():
    saved = torch.load(path)
    model.load_state_dict(saved["model"]); optimizer.load_state_dict(saved["optimizer"])
    start = int(saved["step"])
step = start
model[0].bias.register_hook(lambda grad: die(f"{step}b"))  # the others wait in an all_reduce
ddp = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1e-4)
for step in range(start, 4):
    die(f"{step}a")
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(ddp(x[rank::size]), y[rank::size])
    loss.backward()
    optimizer.step()
    die(f"{step}c")
    total = loss.detach().clone(); dist.all_reduce(total)
    if rank == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, path)
        with open(folder / "losses", "a") as file:
            file.write(f"{step} {total.item() / size!r}\\n")
    dist.barrier()
dist.destroy_process_group()
"""


def losses(folder: Path, deaths: list[str]) -> dict[int, set[str]]:
    folder.mkdir()
    script = written(folder, "train.py", TRAIN)
    done = run("--standalone", "--nproc-per-node", 2, "--max-restarts", len(deaths), script, folder, ",".join(deaths))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("All workers start again") == len(deaths)
    found: dict[int, set[str]] = {}
    for line in (folder / "losses").read_text().splitlines():
        step, value = line.split()
        found.setdefault(int(step), set()).add(value)
    return found


@pytest.mark.slow
def test_the_loss_continues_that_of_the_last_checkpoint(tmp_path: Path) -> None:
    whole = losses(tmp_path / "whole", [])
    assert sorted(whole) == [0, 1, 2, 3]
    broken = losses(tmp_path / "broken", ["0a", "1c", "2b", "3c"])
    assert broken == whole  # to the last bit, also of the steps that were taken twice


ZOMBIE = """
import os, sys
import minitorch_dist as torch, minitorch_dist.distributed as dist
from datetime import timedelta
if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "1":
    # a process that believes itself in the generation before, as rank 1: it meets nobody
    old = os.environ["MINITORCH_DIST_GENERATION"]
    store = os.environ["MINITORCH_DIST_AGENT_STORE"]
    os.environ["MINITORCH_DIST_GENERATION"] = old[:-1] + "0"
    os.environ["MINITORCH_DIST_AGENT_STORE"] = store[:-1] + "0"
    try:
        dist.init_process_group("gloo", timeout=timedelta(seconds=1))
        print("met somebody")
    except dist.DistError as error:
        os.write(1, f"{type(error).__name__}\\n".encode())
    os.environ["MINITORCH_DIST_GENERATION"], os.environ["MINITORCH_DIST_AGENT_STORE"] = old, store
dist.init_process_group("gloo")
x = torch.ones(1); dist.all_reduce(x)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 0:
    sys.exit(5)
dist.barrier()
os.write(1, f"{x.item()}\\n".encode())
"""


@pytest.mark.slow
def test_a_zombie_of_an_old_generation_meets_nobody(tmp_path: Path) -> None:
    script = written(tmp_path, "zombie.py", ZOMBIE)
    done = run("--standalone", "--nproc-per-node", 2, "--max-restarts", 1, script)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said.count("2.0") == 2 and "met somebody" not in said and len(said) == 3, done.stdout


def test_the_key_of_another_generation_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from transports.keys import job_key, world_key

    monkeypatch.delenv("MINITORCH_DIST_GENERATION", raising=False)
    plain = world_key("tcp")
    assert plain == job_key("tcp")
    monkeypatch.setenv("MINITORCH_DIST_GENERATION", "job/0")
    first = world_key("tcp")
    monkeypatch.setenv("MINITORCH_DIST_GENERATION", "job/1")
    assert len({plain, first, world_key("tcp")}) == 3 and job_key("tcp") == plain
