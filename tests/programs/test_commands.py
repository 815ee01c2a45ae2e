"""The programs as a person starts them: one command, terminals, torchrun."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.programs.playing import command, output

pytestmark = pytest.mark.slow

COMMANDS = {
    "rpc_intro.py --steps 3": "step 2 loss",
    "push_pull_server.py --mode async --steps 5 --world_size 5": "async: ",
    "ddp_checkpoint.py --world_size 3 --steps 2": "step 2 loss .* (loaded)",
    "hand_averaged_sgd.py --epochs 1 --train_size 240": "epoch 0 loss",
    "pipeline_resnet50.py --num_split 1 2 --batch_size 4 --image 64 --num_batches 1": "number of splits   execution time   idle",
    "fsdp_mnist.py --train_size 64 --test_size 32": "rank 1 keeps 74709 of 149418 parameters",
}


@pytest.mark.parametrize("line", COMMANDS)
def test_one_command(line: str) -> None:
    text = output(command(*line.split()))
    assert re.search(COMMANDS[line].replace("(", r"\(").replace(")", r"\)"), text), text


def test_a_terminal_for_each_rank_with_the_seeds_flags() -> None:
    port = free_port()
    flags = (
        f"--world_size=3 --num_gpus=2 --master_addr=localhost --master_port={port} "
        "--train_size=64 --test_size=32 --epochs=1"
    )
    terminals = [
        command("rpc_parameter_server.py", f"--rank={rank}", *flags.split(), MINITORCH_DIST_DEVICES="2x1GB")
        for rank in range(3)
    ]
    server, *trainers = [output(terminal) for terminal in terminals]
    assert "convolutions on cuda:0, the rest on cuda:1" in server
    assert "RPC shutdown on parameter server." in server
    for rank, text in enumerate(trainers, 1):
        assert f"Rank {rank} epoch 0 training batch 0 loss" in text
        assert re.search(r"Accuracy 0\.\d{4}", text)


def test_devices_hold_the_halves_of_a_model() -> None:
    text = output(command("ddp_model_parallel.py", "--steps", "1", MINITORCH_DIST_DEVICES="4x1GB"))
    # both ranks write to one pipe, and a line may come in two pieces
    assert "rank 1 of 2:" in text and re.search(r"cuda:2 \d+ bytes, cuda:3 \d+ bytes", text), text


def test_a_killed_worker_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    torchrun = ["-m", "minitorch_dist.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "2"]
    flags = ["--die-at", "6", "--steps", "9", "--checkpoint", str(tmp_path / "checkpoint")]
    text = output(command(*torchrun, "ddp_elastic.py", *flags))
    found = re.findall(r"generation (\d) step (\d) loss (\S+)", text)
    courses = [{step: loss for g, step, loss in found if g == generation} for generation in "01"]
    # rank 0 may be ended by the launcher before it has said how step 5 went
    assert "".join(courses[0]) in ("01234", "012345") and "".join(courses[1]) == "45678"
    # the same course again
    assert all(courses[1][step] == courses[0][step] for step in "45" if step in courses[0])
    assert "Rank 1 of 2, generation 1: from step 4" in text


def test_remote_calls_under_torchrun() -> None:
    """Who they are, and how many, the ranks are told by torchrun."""
    torchrun = ["-m", "minitorch_dist.distributed.run", "--standalone", "--nproc-per-node", "4"]
    text = output(command(*torchrun, *["push_pull_server.py", "--servers", "1", "--steps", "2"]))
    losses = re.findall(r"^ +[01] +(\d\.\d{6})", text, re.MULTILINE)
    assert len(losses) == 2 and "server_0 keeps 1.weight, 3.weight, 1.bias, 3.bias" in text


def test_the_elastic_program_says_how_it_is_started() -> None:
    process = command("ddp_elastic.py")
    text, _ = process.communicate(timeout=300)
    assert process.returncode == 1 and "mtdrun --standalone" in text
