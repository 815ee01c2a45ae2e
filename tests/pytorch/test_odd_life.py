"""The odd life of programs over real wires: what happens there ends with right numbers, or with a sentence that says what to do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

from tests.pytorch.ranks import RankFailed, on_ranks
from tests.transports.brokers import KEY, Broker
from transports import keys


def _sum(value: float = 1.0, group: Any = None) -> float:
    tensor = torch.full((3,), value)
    dist.all_reduce(tensor, group=group)
    return float(tensor[0])


# ------------------------------------------------------------------------------- other processes


def in_child(act: Callable[[], Any]) -> str:
    """Call `act` in a forked child; the text of its result or of its error."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = f"{act()}"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def _forks() -> list[Any]:
    def child() -> list[Any]:
        return [dist.get_rank(), dist.get_world_size(), _sum()]

    said = in_child(child), in_child(dist.barrier), in_child(lambda: [dist.get_rank(), _ended()])
    return [*said, _sum()]


def _ended() -> bool:
    dist.destroy_process_group()
    return dist.is_initialized()


def test_a_forked_child_is_told_that_it_cannot_use_its_parents_group() -> None:
    for rank, (summed, barred, ended, total) in enumerate(on_ranks(_forks, 2)):
        for said in (summed, barred):
            assert said.startswith(f"RuntimeError: this process was forked from rank {rank} after init_process_group")
            assert "Let the rank itself communicate" in said
        assert ended == f"[{rank}, False]" and total == 2.0


class Rows(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([float(index)]) + torch.rand(1)


def load(method: str, workers: int) -> list[float]:
    torch.manual_seed(dist.get_rank())
    context = method if workers else None
    loader = DataLoader(
        Rows(), 3, shuffle=True, num_workers=workers, persistent_workers=workers > 0, multiprocessing_context=context
    )
    return [float(_sum(float(batch.sum()))) for _ in range(2) for batch in loader]


def test_workers_of_a_data_loader_beside_a_group() -> None:
    gloo = on_ranks(load, 2, "fork", 2, backend="gloo")
    assert on_ranks(load, 2, "fork", 2) == gloo and gloo[0] == gloo[1]


def _two_groups() -> list[float]:
    """Each rank begins in another order; neither waits for the other's."""
    rank = dist.get_rank()
    groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
    tensors = [torch.full((1000,), 1.0 + rank), torch.full((3,), 10.0 + rank)]
    order = [0, 1] if rank == 0 else [1, 0]
    works = [dist.all_reduce(tensors[each], group=groups[each], async_op=True) for each in order]
    for work in reversed(works):
        work.wait()
    return [float(tensor.mean()) for tensor in tensors]


def test_two_groups_are_in_flight_at_once() -> None:
    assert on_ranks(_two_groups, 2) == [[3.0, 21.0]] * 2


# ----------------------------------------------------------------------------- ranks that are gone


def _killed() -> None:
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(100):
        _sum()


def _raises() -> None:
    if dist.get_rank() == 1:
        raise KeyError("of the program")
    _sum()


def _cut() -> None:
    """The connections of rank 1 are cut, as by a cable that is pulled out."""
    _sum()
    if dist.get_rank() == 1:
        for name in Path("/proc/self/fd").iterdir():
            try:
                with socket.socket(fileno=os.dup(int(name.name))) as found:
                    if found.family != socket.AF_UNIX:
                        found.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
    for _ in range(100):
        _sum()


@pytest.mark.parametrize(
    ("wire", "program"), [("tcp", _killed), ("file", _killed), ("tcp", _raises), ("file", _raises), ("tcp", _cut)]
)
def test_who_is_gone_is_named_by_those_who_wait(wire: str, program: Any) -> None:
    with pytest.raises(RankFailed, match=r"rank [01] (is lost|has failed|failed|has left)") as failed:
        on_ranks(program, 2, wire=wire)
    assert "torch.distributed.DistError" in failed.value.kinds


# ------------------------------------------------------------------------------------------ wires


def test_over_the_embedded_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, KEY)
    broker = Broker("embedded")
    try:
        assert on_ranks(_sum, 2, wire=broker.address) == [2.0] * 2
    finally:
        broker.stop()


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        ("carrier-pigeon://", "no transport between processes is called"),
        ("sim://", "no transport between processes is called"),
        ("file:///nowhere/at/all", "nowhere"),
    ],
)
def test_a_wrong_wire_is_said_in_words(wire: str, words: str) -> None:
    with pytest.raises(RankFailed, match=words):
        on_ranks(_sum, 2, wire=wire)


# ---------------------------------------------------------------------------------- odd arguments


def _on_meta() -> None:
    dist.all_reduce(torch.ones(2, device="meta"))


def test_tensors_of_another_device_are_refused_in_words() -> None:
    with pytest.raises(RankFailed, match=r"this one is on meta: pass tensor.cpu\(\)"):
        on_ranks(_on_meta, 1)


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import torch.distributed as dist
try:
    dist.init_process_group("mtd", init_method="tcp://127.0.0.1:{port}", rank=0, world_size=1)
except RuntimeError as error:
    print(error)
"""


def test_without_numpy_it_says_what_to_install(tmp_path: Path) -> None:
    from tests.ports import free_port

    script = tmp_path / "script.py"
    script.write_text(WITHOUT_NUMPY.format(port=free_port()))
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert "the backend mtd needs numpy, which is not installed: pip install" in ran.stdout, ran.stderr
