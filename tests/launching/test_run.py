"""`distributed.run` on one node: what workers find, what is shown, restarted, passed on, left."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.launching.agents import agents, run, written
from tests.launching.waiting import is_running, until
from tests.ports import free_port

TELL = """
import json, os, sys
said = json.dumps([sys.argv[1:], dict(os.environ), os.getpid(), __file__, __name__, sys.path[0]])
os.write(1, (said + "\\n").encode())
"""
# the seed's list
SEED = ["WORLD_SIZE", "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "LOCAL_WORLD_SIZE",
        "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT",
        "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID"]  # fmt: skip


def told(text: str) -> list[Any]:
    """What workers printed, by rank."""
    said = [json.loads(line) for line in text.splitlines() if line.startswith("[")]
    return sorted(said, key=lambda each: int(each[1]["RANK"]))


@pytest.mark.parametrize("workers", [1, 3])
def test_every_variable_is_there(workers: int, tmp_path: Path) -> None:
    script = written(tmp_path, "tell.py", TELL)
    done = run("--standalone", "--nproc-per-node", workers, "--max-restarts", 2, script, "--x", "y")
    assert done.returncode == 0, done.stderr
    ranks = told(done.stdout)
    assert len(ranks) == workers
    for rank, (argv, env, _, file, name, path) in enumerate(ranks):
        assert (argv, file, name, path) == (["--x", "y"], str(script), "__main__", str(tmp_path))
        assert set(SEED) <= set(env)
        assert env["RANK"] == env["LOCAL_RANK"] == env["ROLE_RANK"] == str(rank)
        assert env["WORLD_SIZE"] == env["LOCAL_WORLD_SIZE"] == env["ROLE_WORLD_SIZE"] == str(workers)
        assert (env["GROUP_RANK"], env["GROUP_WORLD_SIZE"], env["ROLE_NAME"]) == ("0", "1", "default")
        assert (env["TORCHELASTIC_RESTART_COUNT"], env["TORCHELASTIC_MAX_RESTARTS"]) == ("0", "2")
        assert env["TORCHELASTIC_USE_AGENT_STORE"] == "True" and int(env["MASTER_PORT"]) > 0
        assert not Path(env["TORCHELASTIC_ERROR_FILE"]).parent.exists()  # tidied up
    assert len({env["TORCHELASTIC_RUN_ID"] for _, env, *_ in ranks}) == 1


def test_options_have_three_spellings(tmp_path: Path) -> None:
    script = written(tmp_path, "tell.py", TELL)
    for options, variables in [
        (["--nnode=1", "--node_rank=0", "--nproc_per_node=2"], {}),  # the seed's command line
        (["--nnodes=1:1", "--nproc-per=2"], {}),
        ([], {"PET_NPROC_PER_NODE": "2", "PET_STANDALONE": "1"}),
    ]:
        done = run(*options, script, variables=variables)
        assert [env["WORLD_SIZE"] for _, env, *_ in told(done.stdout)] == ["2", "2"], done.stderr


@pytest.mark.slow
def test_modules_programs_and_given_ports(tmp_path: Path) -> None:
    written(tmp_path, "tell.py", TELL)
    done = run("--standalone", "-m", "tell", "a", cwd=tmp_path)
    (argv, *_, name, path) = told(done.stdout)[0]
    assert (argv, name, path) == (["a"], "__main__", str(tmp_path)), done.stderr
    done = run("--standalone", "--no-python", "--nproc-per-node", 2, "sh", "-c", "echo has $RANK")
    assert sorted(done.stdout.split("\n")) == ["", "has 0", "has 1"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        taken = run("--master-port", port, tmp_path / "tell.py")
    assert taken.returncode == 1 and f"Port {port} is held by" in taken.stderr
    done = run("--master-port", port, tmp_path / "tell.py")
    assert told(done.stdout)[0][1]["MASTER_PORT"] == str(port), done.stderr
    assert told(done.stdout)[0][1]["TORCHELASTIC_RUN_ID"] == "none"


@pytest.mark.parametrize(
    ("host", "rank", "is_told"), [("192.0.2.1", 0, True), ("192.0.2.1", 1, False), ("127.0.0.1", 0, False)]
)
def test_node_0_is_told_when_its_stores_address_is_another_machines(
    host: str, rank: int, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when somebody types the same command on two machines: both would be node 0, and wait for the other."""
    from minitorch_dist.distributed import run as launcher

    lines: list[str] = []
    monkeypatch.setattr(launcher, "say", lines.append)
    words = ["--nnodes", "2", "--node-rank", str(rank), "--rdzv-endpoint", host, "train.py"]
    place, _, _ = launcher.place_of(launcher.get_args_parser().parse_args(words), 2, {})
    assert place.keeps == (rank == 0)
    assert is_told == any(f"{host} is no address of this machine" in line for line in lines)


@pytest.mark.parametrize(
    "options, says",
    [
        (["--nnodes", "2:1"], "min_nodes must be > 0 and <= max_nodes"),
        (["--nnodes", "1:2:3"], "MIN:MAX"),
        (["--nproc-per-node", "many"], "Unsupported nproc_per_node value: many"),
        (["--nproc-per-node", "0"], "at least one worker"),
        (["--nproc-per-node", "gpu"], "Cuda is not available"),
        (["--nnodes", "2", "--node-rank", "2"], "0 to 1"),
        (["--rdzv-conf", "join_timeut=3"], "does not know join_timeut"),
        (["--rdzv-backend", "etcd"], "etcd is not offered"),
        (["--net", "pigeon"], "no transport for 'pigeon'"),
        (["--no-python", "-m"], "at the same time"),
    ],
)
def test_wrong_options_are_refused_in_words(options: list[str], says: str) -> None:
    from minitorch_dist.distributed import run as launcher

    with pytest.raises(SystemExit) as caught, pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr(launcher, "say", lines.append)
        patch.delenv("MINITORCH_DIST_DEVICES", raising=False)
        launcher.main([*options, "train.py"])
    assert caught.value.code == 2 and says in lines[0]


def test_torchs_keys_of_rdzv_conf_are_taken() -> None:
    from minitorch_dist.distributed import run as launcher

    conf = launcher.parse_conf("timeout=900,read_timeout=60,store_type=file,rank=0,last_call_timeout=5")
    patience = launcher.patience_of(conf)
    assert (patience.join_timeout, patience.last_call_timeout) == (900, 5)
    assert launcher.patience_of(launcher.parse_conf("timeout=900,join_timeout=3")).join_timeout == 3


FLAKY = """
import os, sys
count = os.environ["TORCHELASTIC_RESTART_COUNT"]
os.write(1, f"{count}\\n".encode())
if count != sys.argv[1] and os.environ["RANK"] == "1":
    sys.exit(7)
import time
if count != sys.argv[1]: time.sleep(1000)
"""


@pytest.mark.parametrize("heals_at, restarts, code", [("2", 2, 0), ("2", 1, 1), ("0", 0, 0)])
def test_all_are_started_again_as_often_as_allowed(heals_at: str, restarts: int, code: int, tmp_path: Path) -> None:
    script = written(tmp_path, "flaky.py", FLAKY)
    done = run("--standalone", "--nproc-per-node", 2, "--max-restarts", restarts, script, heals_at)
    assert done.returncode == code, done.stderr
    counts = sorted(int(line) for line in done.stdout.splitlines())
    assert max(counts) == restarts and counts.count(restarts) >= 1
    if code:
        assert "exitcode  : 7" in done.stderr and "rank      : 1 (local_rank: 1)" in done.stderr
        assert "started again 1 time" in done.stderr


@pytest.mark.parametrize(
    "program, says",
    [
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
        ("def f(:", "SyntaxError"),
        ("import sys; sys.exit('no data')", "SystemExit: no data"),
    ],
)
def test_a_script_that_does_not_get_far_says_why(program: str, says: str, tmp_path: Path) -> None:
    script = written(tmp_path, "hopeless.py", program)
    done = run("--standalone", "--max-restarts", 1, script)
    assert done.returncode == 1
    assert says in done.stderr and "started again 1 time(s)" in done.stderr


def test_the_report_names_the_cause_and_no_symptom(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "fails.py",
        """
import minitorch_dist.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 2:
    raise KeyError("the cause")
dist.barrier()
""",
    )
    done = run("--standalone", "--nproc-per-node", 3, script)
    box = done.stderr[done.stderr.index("=====") :]
    assert "rank      : 2 (local_rank: 2)" in box and "KeyError: 'the cause'" in box
    assert 'fails.py", line 5, in <module>' in box and "entry.py" not in box
    assert max(map(len, box.splitlines()[:1] + box.splitlines()[3:9])) <= 80


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_a_signal_is_named(name: str, tmp_path: Path) -> None:
    script = written(tmp_path, "dies.py", f"import os, signal\nos.kill(os.getpid(), signal.{name})\n")
    done = run("--standalone", script)
    assert done.returncode == 1
    assert f"({name})" in done.stderr and f"exitcode  : -{int(signal.Signals[name])}" in done.stderr
    if name == "SIGSEGV":
        assert "dies.py" in done.stderr  # faulthandler's stack


def test_the_deprecated_launcher(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "old.py",
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
print(f"rank {parser.parse_args().local_rank}\\n", end="")  # in one piece: two ranks share the pipe
""",
    )
    module = "minitorch_dist.distributed.launch"
    done = run("--nproc_per_node", 2, script, module=module)
    assert done.returncode == 1 and "FutureWarning" in done.stderr
    assert "unrecognized arguments: --local-rank=" in done.stderr
    script.write_text(script.read_text().replace('"--local_rank"', '"--local_rank", "--local-rank"'))
    done = run("--nproc_per_node", 2, script, module=module)
    assert sorted(done.stdout.split("\n")) == ["", "rank 0", "rank 1"]
    done = run("--use-env", script, module=module)
    assert done.stdout == "rank None\n"


def test_files_of_what_workers_print_are_refused(tmp_path: Path) -> None:
    done = run("--standalone", "--tee", 3, written(tmp_path, "talk.py", "print(1)"))
    assert done.returncode == 2 and done.stdout == ""
    assert "--tee" in done.stderr and "`mtdrun … > FILE 2>&1`" in done.stderr and "torchrun" in done.stderr


def test_record_writes_the_error_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minitorch_dist.distributed.elastic.multiprocessing.errors import record

    @record
    def main(code: int | None) -> str:
        if code is not None:
            sys.exit(code)
        raise ValueError("recorded")

    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    with pytest.raises(ValueError, match="recorded"):
        main(None)
    said = json.loads(path.read_text())["message"]
    assert said["message"] == "ValueError: recorded" and "in main" in said["extraInfo"]["py_callstack"]
    assert re.fullmatch(r"\d+", said["extraInfo"]["timestamp"])
    assert main(0) is None
    with pytest.raises(SystemExit):
        main(3)


def test_who_only_lost_a_peer_is_the_cause_if_nobody_else_is(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "left.py",
        """
import minitorch_dist.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 0:
    dist.barrier()
""",
    )
    done = run("--standalone", "--nproc-per-node", 2, script)
    assert done.returncode == 1 and "rank      : 0 (local_rank: 0)" in done.stderr
    assert "PeerLost" in done.stderr


@pytest.mark.slow
def test_a_thread_that_stays_does_not_hide_an_exception(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "threads.py",
        """
import threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
raise ValueError("then I go")
""",
    )
    done = run("--standalone", "--shutdown-timeout", 0, script)
    assert done.returncode == 1 and "ValueError: then I go" in done.stderr


# ------------------------------------------------------------------------------------- ends

STAY = """
import os, signal, subprocess, sys, time
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
if len(sys.argv) > 2:
    signal.signal(getattr(signal, sys.argv[2]), signal.SIG_IGN)
def heard(number, frame):
    with open(Path(sys.argv[1], f"heard{os.environ['RANK']}"), "a") as file:
        file.write(f"{number} ")
    time.sleep(0.3)  # whoever cleans up takes a while
    sys.exit(1)
if len(sys.argv) == 2:
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), heard)
Path(sys.argv[1], f"pids{os.environ['RANK']}").write_text(f"{os.getpid()} {child.pid}.")
time.sleep(1000)
"""


def pids(folder: Path) -> list[int]:
    return [int(pid) for file in folder.glob("pids*") for pid in file.read_text().rstrip(".").split()]


def are_ready(folder: Path, workers: int) -> bool:
    return sum(file.read_text().endswith(".") for file in folder.glob("pids*")) == workers


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_is_passed_on_once_and_nothing_is_left(name: str, tmp_path: Path) -> None:
    script = written(tmp_path, "stay.py", STAY)
    number = signal.Signals[name]
    with agents() as start:
        agent = start("--standalone", "--nproc-per-node", 2, script, tmp_path)
        until(lambda: are_ready(tmp_path, 2))
        os.killpg(agent.pid, number)  # as Ctrl-C does
        out, _ = agent.communicate(timeout=300)
    assert agent.returncode == 128 + number
    assert f"got signal: {name}" in out
    assert [(tmp_path / f"heard{r}").read_text() for r in (0, 1)] == [f"{int(number)} "] * 2
    assert not any(map(is_running, pids(tmp_path)))


def test_who_does_not_listen_is_killed_after_a_while(tmp_path: Path) -> None:
    script = written(tmp_path, "stay.py", STAY)
    with agents() as start:
        agent = start("--standalone", "--shutdown-timeout", 0, script, tmp_path, "SIGTERM")
        until(lambda: are_ready(tmp_path, 1))
        agent.terminate()
        agent.communicate(timeout=300)
    assert not any(map(is_running, pids(tmp_path)))


def test_killing_the_agent_ends_workers_and_their_children(tmp_path: Path) -> None:
    script = written(tmp_path, "stay.py", STAY)
    with agents() as start:
        folders = tmp_path / "tmp"
        folders.mkdir()
        agent = start("--standalone", "--nproc-per-node", 2, script, tmp_path, TMPDIR=str(folders))
        until(lambda: are_ready(tmp_path, 2))
        agent.kill()
        until(lambda: not any(map(is_running, pids(tmp_path))))
        until(lambda: not list(folders.iterdir()))  # its temporary folder


@pytest.mark.slow
def test_children_of_a_worker_that_is_done_end_too(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "leaves.py",
        """
import subprocess, sys
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
Path(sys.argv[1], "pids0").write_text(f"{child.pid}.")
""",
    )
    done = run("--standalone", script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert not any(map(is_running, pids(tmp_path)))


# ------------------------------------------------------------------------------- scripts of torch's

HARD_CODED = """
import os, sys
import minitorch_dist as torch, minitorch_dist.distributed as dist
os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", sys.argv[1]
dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
x = torch.ones(1); dist.all_reduce(x)
os.write(1, f"{x.item()} {dist.group.WORLD.world.transport.scheme}\\n".encode())
dist.destroy_process_group()
"""


PLAIN = HARD_CODED.replace('os.environ["MASTER_ADDR"]', "_").replace('os.environ["MASTER_PORT"]', "_")
PLAIN = PLAIN.replace("sys.argv[1]", "0")


def test_a_script_with_an_address_of_its_own(tmp_path: Path) -> None:
    """T12: under torchrun this waits for 30 minutes."""
    script = written(tmp_path, "own.py", HARD_CODED)
    done = run("--standalone", "--nproc-per-node", 2, script, free_port())
    assert done.stdout == "2.0 tcp\n2.0 tcp\n", done.stderr
    port = free_port()  # the agent's store by another name of this host
    done = run("--nproc-per-node", 2, "--master-port", port, script, port)
    assert done.stdout == "2.0 tcp\n2.0 tcp\n", done.stderr


def test_a_hard_coded_loopback_on_several_nodes_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import minitorch_dist.distributed as dist

    for name, value in {
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "GROUP_WORLD_SIZE": "2",
        "RANK": "1",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "12355",
        "MINITORCH_DIST_AGENT_STORE": "hosta 29400 jobs/x/worker/0",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(dist.DistNetworkError, match=r"hosta 29400.*remove the lines that set them"):
        dist.init_process_group("gloo")
    monkeypatch.delenv("MINITORCH_DIST_AGENT_STORE")
    with pytest.raises(dist.DistNetworkError, match="PyTorch's torchrun"):
        dist.init_process_group("gloo")


@pytest.mark.parametrize("transport, scheme", [("tcp", "tcp"), ("file", "file"), ("mqtt://", "mqtt")])
def test_the_transport_of_an_unchanged_script(transport: str, scheme: str, tmp_path: Path) -> None:
    script = written(tmp_path, "plain.py", PLAIN)
    done = run("--standalone", "--nproc-per-node", 2, "--net", transport, script)
    assert done.stdout == f"2.0 {scheme}\n" * 2, done.stderr


def test_devices_count_as_gpus(tmp_path: Path) -> None:
    script = written(tmp_path, "tell.py", TELL)
    for kind in ("gpu", "auto"):
        done = run("--standalone", "--nproc-per-node", kind, script, variables={"MINITORCH_DIST_DEVICES": "3x80GB"})
        assert len(told(done.stdout)) == 3, done.stderr


def test_help_fits_a_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minitorch_dist.distributed.run", "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
        check=True,
    )
    assert max(map(len, done.stdout.splitlines())) <= 80
