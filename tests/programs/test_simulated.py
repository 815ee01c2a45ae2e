"""Every program in virtual time: it ends, it learns, and what it shows is right."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitorch_dist.distributed import world
from tests.programs import playing

LEARNING = {
    "rpc_intro": "--steps 6",
    "rpc_parameter_server": "--world_size 3 --train_size 640 --test_size 100 --epochs 1",
    "push_pull_server": "--steps 20",
    "batch_update_server": "--steps 15",
    "rnn_over_workers": "--steps 60",
    "ddp_basic": "--world_size 3",
    "ddp_checkpoint": "--world_size 5",
    "ddp_model_parallel": "--world_size 2",
    "hand_averaged_sgd": "--world_size 2 --epochs 4 --train_size 840",
    "small_gpt": "--steps 25 --rows 4 --length 16 --width 16 --layers 1 --letters 2",
    "word_lstm": "--steps 25 --rows 4 --width 24 --words 2",
    "vae": "--steps 30 --train_size 128 --batch_size 16 --hidden 32",
    "diloco": "--world_size 3 --steps 30 --inner 5 --train_size 384 --test_size 32 --hidden 32",
    "gcn": "--steps 30",
    "dcgan": "--steps 12 --train_size 32 --batch_size 8 --width 4",
    "llama_4d": "--steps 12 --rows 4 --microbatches 2 --length 16 --width 16 --world_size 8 --lr 0.02",
    "fsdp_mnist": "--world_size 3 --train_size 600 --test_size 48 --batch_size 20",
}


@pytest.mark.parametrize("name", LEARNING)
def test_it_learns(name: str) -> None:
    course = playing.losses(name, playing.simulated(name, LEARNING[name]).results)
    if name in ("rpc_parameter_server", "fsdp_mnist"):
        assert course.pop() > 0.2  # of ten digits
    if name == "push_pull_server":
        course = course[:20]  # of worker 0
    if name == "dcgan":
        course = course[::2]  # of the discriminator
    first, last = np.mean(course[:2]), np.mean(course[-2:])
    assert np.isfinite(course).all() and last < 0.8 * first


@pytest.mark.parametrize("size", [2, 3, 4])
def test_trainers_of_one_server_take_turns(size: int) -> None:
    """T3: with any number of trainers no step falls between another's forward and backward."""
    flags = f"--world_size {size} --train_size 60 --test_size 20 --batch_size 5 --epochs 1"
    results = playing.simulated("rpc_parameter_server", flags).results
    assert results[0] is None and len(results) == size
    assert sum(len(losses) for losses, _ in results[1:]) >= 12


def test_without_turns_it_is_the_seeds_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    program: Any = importlib.import_module("rpc_parameter_server")
    free = program.rpc.functions.async_execution(lambda self, who: _done(program))
    monkeypatch.setattr(program.Turn, "take", free)
    monkeypatch.setattr(program.Turn, "give", lambda self: None)
    flags = "--world_size 4 --train_size 90 --test_size 20 --batch_size 5 --epochs 1"
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        playing.simulated("rpc_parameter_server", flags)


def _done(program: Any) -> Any:
    future = program.Future()
    future.set_result(None)
    return future


def test_accuracy_is_measured_without_dropout() -> None:
    """T2: the same digits, asked twice, get the same answers."""
    flags = "--world_size 3 --train_size 20 --test_size 100 --batch_size 10 --epochs 1 --lr 1e-9"
    results = playing.simulated("rpc_parameter_server", flags).results
    assert results[1][1] == results[2][1]


# ----------------------------------------------------------------------------------- push and pull


def table(flags: str) -> list[Any]:
    return list(playing.simulated("push_pull_server", f"--steps 12 {flags}").results[0])


@pytest.mark.parametrize("servers", [1, 2, 3])
def test_synchronous_servers_are_one_optimizer(servers: int) -> None:
    """However many servers the keys are spread over, and whoever is slow, all take the same steps."""
    courses = [
        [worker[0] for worker in table(f"--servers {servers} --world_size {servers + 4} {slow}")]
        for slow in ("", "--straggler 0.03")
    ]
    assert courses[0] == courses[1] == [w[0] for w in table("--servers 1 --world_size 5")]


@pytest.mark.slow
def test_who_waits_for_a_straggler() -> None:
    """In virtual time: a step takes 10 ms, worker 0's 50 ms."""
    slow = "--world_size 6 --straggler 0.04"
    sync, bounded, free = (table(f"--mode {mode} {slow}") for mode in ("sync", "bounded --staleness 3", "async"))
    assert [w[3] for w in sync] == [0, 0, 0]  # nobody ever sees more steps of one than of another
    assert max(w[3] for w in bounded) == 3
    assert max(w[3] for w in free) > 6
    for took, mode in zip((0.60, 0.60, 0.60), (sync, bounded, free), strict=True):
        assert took < mode[0][1] < took + 0.06  # the straggler itself is never held up
    assert all(w[2] > 0.4 for w in sync[1:])
    assert all(0.2 < w[2] < 0.5 for w in bounded[1:])
    assert all(w[2] < 0.05 and w[1] < 0.2 for w in free[1:])


def test_one_thread_serves_any_number_of_waiting_trainers() -> None:
    flags = "--world_size 6 --threads 1 --steps 3 --batch_size 8"
    assert len(playing.simulated("batch_update_server", flags).results[0]) == 3


# ---------------------------------------------------------------------------------------- pipeline


@pytest.mark.slow
def test_the_bubble_of_a_pipeline_is_that_of_the_formula() -> None:
    """Two halves and m micro-batches are idle for 1 / (m + 1) of the time, and a little for the network."""
    flags = "--batch_size 8 --image 64 --num_batches 1 --num_split 1 2 4"
    rows = playing.simulated("pipeline_resnet50", flags, net="sim://?latency=1us").results[0]
    for splits, losses, _, idle, picture in rows:
        assert np.isfinite(losses).all()
        assert 1 / (splits + 1) - 1e-6 <= idle < 1 / (splits + 1) + 0.02
        letters = "abcdefgh"[:splits]
        assert all(set(letters) | set("0123"[:splits]) <= set(line[8:]) for line in picture)
    assert all(a[2] > b[2] for a, b in itertools.pairwise(rows))


def test_a_picture_of_spans() -> None:
    program: Any = importlib.import_module("pipeline_resnet50")
    spans = [[[0, 0.0, 1.0], [-1, 3.0, 4.0]], [[0, 1.0, 2.0], [-1, 2.0, 3.0]]]
    assert program.drawn(spans, 8) == ["worker1 00····aa", "worker2 ··00aa··"]
    assert program.idle(spans) == pytest.approx(0.5)
    assert program.covered([[0, 0.0, 2.0], [1, 1.0, 3.0], [2, 5.0, 6.0]]) == 4.0


# -------------------------------------------------------------------------------------- the others


@pytest.mark.parametrize("name", ["ddp_basic", "ddp_model_parallel"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_any_number_of_ranks(name: str, size: int) -> None:
    results = playing.simulated(name, f"--world_size {size} --steps 2").results
    assert len(results) == size


@pytest.mark.parametrize("size", [2, 3, 5])
def test_ranks_together_are_one_rank(size: int) -> None:
    flags = "--epochs 2 --train_size 240"
    alone = playing.simulated("hand_averaged_sgd", f"--world_size 1 {flags}").results[0]
    courses = playing.simulated("hand_averaged_sgd", f"--world_size {size} {flags}").results
    assert all(course == courses[0] for course in courses)
    np.testing.assert_allclose(courses[0], alone, rtol=1e-3)


def test_a_graph_in_shares_is_the_whole_graph() -> None:
    alone, two, many = (playing.simulated("gcn", f"--world_size {size} --steps 12").results[0] for size in (1, 2, 17))
    np.testing.assert_allclose(two, alone, rtol=1e-4)
    np.testing.assert_allclose(many, alone, rtol=1e-4)


SHARES = {  # a program, and the ways to share its work between ranks
    "dcgan --steps 3 --train_size 30 --batch_size 30 --width 2 --z 4": ["1", "2", "3", "5"],
    "actor_critic --episodes 6 --steps 10 --walkers 4": ["1", "2", "3", "5"],
    "llama_4d --steps 3 --rows 8 --microbatches 2 --length 8 --width 16": [
        "1 --pipeline 1 --context 1 --tensor 1",
        "2 --pipeline 1 --context 1 --tensor 1",
        "2 --pipeline 2 --context 1 --tensor 1",
        "2 --pipeline 1 --context 2 --tensor 1",
        "2 --pipeline 1 --context 1 --tensor 2",
        "4 --pipeline 1 --context 4 --tensor 1",
        "16 --pipeline 2 --context 2 --tensor 2",
    ],
}


@pytest.mark.parametrize("line", SHARES)
def test_however_the_work_is_shared_the_course_is_one(line: str) -> None:
    name, flags = line.split(" ", 1)
    alone, *courses = (
        playing.losses(name, playing.simulated(name, f"{flags} --world_size {share}").results) for share in SHARES[line]
    )
    for course in courses:
        np.testing.assert_allclose(course, alone, rtol=1e-4)


def test_the_agent_found_the_way_from_every_field() -> None:
    """Following the arrows of the picture ends at the goal."""
    program: Any = importlib.import_module("actor_critic")
    pictures: list[Any] = []
    picture = program.Agent.picture

    def noted(self: Any) -> Any:
        pictures.append(picture(self))
        return pictures[-1]

    program.Agent.picture = noted
    try:
        course = playing.simulated("actor_critic", "--world_size 1").results[0]
    finally:
        program.Agent.picture = picture
    assert course[-1][1] < 0.5 * course[0][1]  # steps until the goal
    arrows = "".join(pictures[0])
    for field in program.FREE:
        maze, steps = program.Maze(), 0
        maze.at = field
        while maze.at != program.GOAL and steps < 20:
            maze.step(list(program.DIRECTIONS).index(arrows[maze.at]))
            steps += 1
        assert maze.at == program.GOAL, (field, pictures[0])


def test_ranks_of_diloco_have_equal_weights_after_they_talked() -> None:
    """And they differ from those of the time before."""
    program: Any = importlib.import_module("diloco")
    flags = "--steps 4 --inner 2 --train_size 60 --test_size 8 --batch_size 10 --hidden 8"
    ways: list[Any] = []
    step = program.DiLoCo.step

    def noted(self: Any) -> None:
        step(self)
        ways.append([p.tolist() for p in self.model.parameters()])

    program.DiLoCo.step = noted
    try:
        playing.simulated("diloco", f"--world_size 3 {flags}")
    finally:
        program.DiLoCo.step = step
    assert len(ways) == 6
    assert ways[0] == ways[1] == ways[2] != ways[3] == ways[4] == ways[5]


def test_a_full_state_may_be_offloaded_on_the_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program: Any = importlib.import_module("fsdp_mnist")
    config = program.FullStateDictConfig
    monkeypatch.setattr(program, "FullStateDictConfig", lambda **_: config(offload_to_cpu=True, rank0_only=True))
    flags = f"--train_size 64 --test_size 32 --save_model {tmp_path / 'model'}"
    playing.simulated("fsdp_mnist", flags)
    saved = program.torch.load(tmp_path / "model")
    assert {n: v.shape for n, v in saved.items()} == {n: v.shape for n, v in program.Net().state_dict().items()}


def test_a_trainer_that_keeps_its_turn_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that was killed amid its turn does. The others wait a minute, of virtual time."""
    program = importlib.import_module("rpc_parameter_server")
    works = program.run_worker

    def keeps(rank: int, world_size: int, options: Any) -> Any:
        if rank != 1:
            world.place().clock.sleep(0.1)
            return works(rank, world_size, options)
        program.rpc.init_rpc("trainer_1", rank=rank, world_size=world_size)
        program.take(program.rpc.remote("parameter_server", program.get_turn), "trainer_1")
        world.place().clock.sleep(100)
        return program.rpc.shutdown(graceful=False)

    monkeypatch.setattr(program, "run_worker", keeps)
    with pytest.raises(RuntimeError, match="trainer_2 waited for its turn, which trainer_1 has"):
        playing.simulated("rpc_parameter_server", "--world_size 3 --train_size 96 --test_size 32")


@pytest.mark.parametrize(
    ("name", "flags", "words"),
    [
        ("rpc_parameter_server", "--rank 4", "--rank 4 is not in a world of 4: 0 … 3"),
        ("rpc_parameter_server", "--world_size 0", "--world_size: must be at least 1, got 0"),
        ("rpc_parameter_server", "--world_size 1", "the server and its trainers: at least 2"),
        ("batch_update_server", "--world_size 1", "the server and its trainers: at least 2"),
        ("pipeline_resnet50", "--world_size 2", "a master and two workers: --world_size 3"),
        ("pipeline_resnet50", "--num_split 1 0", "--num_split: must be at least 1, got 0"),
        ("push_pull_server", "--servers 5", "a master, the --servers, and at least one worker"),
        ("rnn_over_workers", "--world_size 3", "a trainer and a ps: --world_size 2"),
        ("rpc_intro", "--world_size 1", "--world_size is at least 2"),
        ("rpc_intro", "--master_port 70000", "a port is 1 to 65535, got 70000"),
        ("rpc_intro", "--master_port x", "invalid port value: 'x'"),
        ("gcn", "--world_size 3", "--world_size must be 1, 2, 17 or 34"),
        ("vae", "--train_size 40", "--train_size must be at least --world_size times --batch_size"),
        ("diloco", "--inner 0", "--inner: must be at least 1, got 0"),
        ("dcgan", "--batch_size 33", "--batch_size must be a multiple of --world_size"),
        ("actor_critic", "--walkers 1", "--walkers must be at least the number of observers"),
        ("llama_4d", "--world_size 6", "--world_size must be a multiple of --pipeline times"),
        ("llama_4d", "--microbatches 1", "--layers and --microbatches must be at least --pipe"),
        ("llama_4d", "--rows 4", "--rows must be a multiple of --microbatches times the ranks"),
        ("llama_4d", "--length 31", "--length must be a multiple of --context"),
        ("fsdp_mnist", "--train_size 4001", "must be multiples of --world_size"),
    ],
)
def test_wrong_flags_are_told(name: str, flags: str, words: str, capsys: Any) -> None:
    """Before anything is started."""
    with pytest.raises(SystemExit):
        importlib.import_module(name).parser().parse_args(flags.split())
    assert words in capsys.readouterr().err


def test_torchrun_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "7")
    parser = importlib.import_module("rpc_intro").parser()
    assert parser.parse_args([]).world_size == 7
    assert parser.parse_args(["--sim"]).world_size == 2
