"""`sim.run(…, timelines=True)`: nothing changes, the critical path is as long as the run, and it says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B
from minitorch_dist.nn.parallel import DistributedDataParallel
from mtd.cli import main
from mtd.pages import step_page
from mtd.timelines.critical_path import COLLECTIVE, COMPUTING, MESSAGE
from mtd.timelines.timeline import ComputedSpan

Program = Callable[..., Any]
MS = 10**9  # picoseconds
NET = sim.two_level(8, 2, sim.link("2us", "450GB/s"), sim.link("5us", "400Gb/s"))


def tower() -> nn.Sequential:
    return nn.Sequential(*[nn.Linear(512, 512, device="cuda") for _ in range(3)])


def step(model: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(64, 512, device="cuda")).sum().backward()
    optimizer.step()


def data_parallel() -> None:
    step(DistributedDataParallel(tower(), bucket_cap_mb=1))


def sharded() -> None:
    model = tower()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    step(model)


def pipeline() -> None:
    size, rank = dist.get_world_size(), dist.get_rank()
    stage = PipelineStage(nn.Linear(64, 64, device="cuda"), rank, size, "cuda")
    schedule = Schedule1F1B(stage, size, loss_fn=lambda output, _: output.sum())
    given = (torch.ones(size, 64, device="cuda"),) if rank == 0 else ()
    target = torch.ones(size, 64, device="cuda") if rank == size - 1 else None
    schedule.step(*given, target=target)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("program", [data_parallel, sharded, pipeline])
def test_nothing_changes_and_the_path_is_the_time(program: Program, size: int) -> None:
    options: dict[str, Any] = {"device": sim.gpu("h100"), "net": NET, "shapes": True}
    plain = sim.run(program, size, **options)
    noted = sim.run(program, size, timelines=True, **options)
    assert noted.ranks == plain.ranks and noted.digest == plain.digest
    path = noted.timelines.critical_path  # type: ignore[union-attr]
    assert path.time == noted.time
    instants = [part.start for part in path.parts] + [noted.time]
    assert instants[0] == 0
    assert all(p.end == after for p, after in zip(path.parts, instants[1:], strict=True))


@pytest.mark.parametrize("program", [data_parallel, sharded])
def test_a_folded_run_tells_the_same(program: Program) -> None:
    full, folded = (
        sim.run(program, 8, device=sim.gpu("h100"), net=NET, shapes=True, fold=fold, timelines=True)
        for fold in (False, True)
    )
    assert folded.folded.refused == ""
    assert full.timelines and folded.timelines
    assert folded.timelines.critical_path == full.timelines.critical_path
    for one, other in zip(full.timelines.ranks, folded.timelines.ranks, strict=True):
        computed = [[s for s in line.spans() if isinstance(s, ComputedSpan)] for line in (one, other)]
        assert computed[0] == computed[1]
        assert one.collectives == other.collectives


def late() -> None:
    """Rank 1 comes late to a collective."""
    sim.compute("3ms" if dist.get_rank() == 1 else "1ms")
    dist.all_reduce(torch.ones(1000))


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_the_chain_goes_through_the_rank_that_is_late(size: int) -> None:
    report = sim.run(late, size, net=sim.uniform("1us", "1GB/s"), timelines=True)
    assert report.timelines is not None
    computing, collective = report.timelines.critical_path.parts
    assert (computing.rank, computing.kind, computing.picos) == (1, COMPUTING, 3 * MS)
    assert collective.kind == COLLECTIVE and collective.name == "all_reduce"


def hidden(seconds: str) -> None:
    work = dist.all_reduce(torch.ones(1000), async_op=True)
    sim.compute(seconds)
    work.wait()  # type: ignore[union-attr]


def test_what_is_hidden_is_not_in_the_chain() -> None:
    net = sim.uniform("1us", "1MB/s")
    long, short = (
        sim.run(hidden, 3, ["1s"], net=net, timelines=True),
        sim.run(hidden, 3, ["1us"], net=net, timelines=True),
    )
    assert long.timelines and short.timelines
    assert list(long.timelines.critical_path.shares()) == [COMPUTING]
    assert set(short.timelines.critical_path.shares()) == {"all_reduce"}


def test_collectives_that_queue_for_one_group_stand_in_the_chain_one_after_another() -> None:
    def two() -> None:
        works = [dist.all_reduce(torch.ones(n), async_op=True) for n in (1000, 2000)]
        works[1].wait()  # type: ignore[union-attr]

    report = sim.run(two, 2, net=sim.uniform("1us", "1MB/s"), timelines=True)
    assert report.timelines is not None
    names = [part.name for part in report.timelines.critical_path.parts]
    assert names == ["all_reduce", "all_reduce"]


def chain() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.ones(1000)
    if rank:
        dist.recv(x, rank - 1)
    sim.compute("1ms")
    if rank < size - 1:
        dist.send(x, rank + 1)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_messages_lead_back_to_their_senders(size: int) -> None:
    report = sim.run(chain, size, net=sim.uniform("1us", "1GB/s"), timelines=True)
    assert report.timelines is not None
    kinds = [part.kind for part in report.timelines.critical_path.parts]
    assert kinds == [COMPUTING, *[MESSAGE, COMPUTING] * (size - 1)]


def test_collectives_say_for_whom_they_are() -> None:
    of_bucket = sim.run(data_parallel, 2, device=sim.gpu("h100"), shapes=True, timelines=True)
    of_unit = sim.run(sharded, 2, device=sim.gpu("h100"), shapes=True, timelines=True)
    assert of_bucket.timelines and of_unit.timelines
    buckets = {c.owner for c in of_bucket.timelines.ranks[0].collectives.values()}
    units = {(c.name, c.owner) for c in of_unit.timelines.ranks[0].collectives.values()}
    assert "bucket 0" in buckets
    assert {("all_gather_into_tensor", f"FSDPSequential.{n}") for n in range(3)} <= units
    assert {("reduce_scatter_tensor", f"FSDPSequential.{n}") for n in range(3)} <= units


def test_memory_is_told_by_category() -> None:
    report = sim.run(sharded, 4, device=sim.gpu("h100"), shapes=True, timelines=True)
    assert report.timelines is not None
    memory = report.timelines.ranks[0].memory
    most = max(sum(held.values()) for _, held in memory)
    assert {"parameter", "gradient", "activation"} <= {n for _, held in memory for n, b in held.items() if b}
    assert 0 < most <= report.ranks[0].peak_bytes  # type: ignore[operator]
    assert [at for at, _ in memory] == sorted(at for at, _ in memory)


def test_roles_are_ranks_that_did_the_same() -> None:
    report = sim.run(pipeline, 3, device=sim.gpu("h100"), shapes=True, timelines=True)
    same = sim.run(sharded, 3, device=sim.gpu("h100"), shapes=True, timelines=True)
    assert report.timelines and same.timelines
    assert report.timelines.roles == ((0,), (1,), (2,))
    assert same.timelines.roles == ((0, 1, 2),)


def test_the_page(tmp_path: Path) -> None:
    report = sim.run(sharded, 4, device=sim.gpu("h100"), shapes=True, timelines=True, net=NET)
    path = tmp_path / "step.html"
    report.save_page(path, "<a step> & more")
    text = path.read_text(encoding="utf-8")
    assert "&lt;a step&gt; &amp; more" in text and "<a step>" not in text
    assert "http" not in text.replace("http-equiv", "")  # nothing is loaded
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["end"] == report.time and len(data["lanes"]) == 1
    assert sum(end - start for start, end, *_ in data["chain"]) == report.time
    for lane in data["lanes"]:
        ends = [end for _, end, *_ in lane["program"]]
        assert ends == sorted(ends) and ends[-1] <= report.time
    assert "nothing hides" in text


def test_short_spans_are_joined_and_none_is_lost() -> None:
    many = [step_page.StepSpan(n, n + 1, n // 50_000, "x") for n in range(100_000)]
    found = step_page.joined(many, 100_000)
    assert len(found) <= step_page.FINEST
    assert sum(times for *_, times in found) == 100_000
    assert sum(end - start for start, end, *_ in found) == 100_000


def test_a_run_without_timelines_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="timelines=True"):
        sim.run(late, 2).save_page(tmp_path / "none.html")
    with pytest.raises(ValueError, match="say one of them"):
        sim.run(late, 2, timelines=True, journal=tmp_path / "run.mtd")


SCRIPT = """
import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
x = torch.ones(512, 512, device="cuda")
sim.mark("first step")
dist.all_reduce(x @ x)
"""


def test_a_page_of_ones_own_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, page = tmp_path / "mine.py", tmp_path / "mine.html"
    script.write_text(SCRIPT, encoding="utf-8")
    words = ["run", "--ranks", "8", "--device", "h100", "--shapes", "--fold", "--page", str(page)]
    assert main([*words, str(script)]) == 0
    said = capsys.readouterr().out
    assert "1 roles; 2 of 8 ranks" in said and "all_reduce" in said and "computing" in said
    assert "The network is a plain one" in said and "two_level:nodes=1,gpus=8" in said
    text = page.read_text(encoding="utf-8")
    assert "all_reduce" in text and '[0,"first step"]' in text
    assert "rank 0, and 7 ranks that do the same" in text and "stands for" not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fold"], "--fold says nothing without --shapes"),
        (["--shapes", "--net", "tcp"], "--shapes is simulated"),
        (["--page", "x.html", "--seeds", "3"], "--seeds and --page do not go together"),
        (["--page", "nowhere/x.html"], "nowhere/x.html"),
        (["--page", "x.html", "--journal", "x.mtd"], "--page and --journal do not go together"),
    ],
)
def test_options_that_do_not_go_together(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(SCRIPT, encoding="utf-8")
    try:
        status = main(["run", *words, "mine.py"])
    except SystemExit as end:  # of the parser
        status = int(end.code or 0)
    assert status == 2 and said in " ".join(capsys.readouterr().err.split())
