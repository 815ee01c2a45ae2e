"""Open chapters: no right answer beats the bound, and what is not right does not score."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minitorch_dist import sim
from minitorch_dist.distributed.pipelining.orders import Action, B, F, I, Pipe, W, everyones, one_forward_one_backward
from minitorch_dist.distributed.schedules.choice import known
from minitorch_dist.distributed.schedules.links import Links
from mtd import cli
from mtd.course import judging as lesson_judging, loading, records, workspace
from mtd.course.chapters import chapter, judging
from mtd.course.chapters.chapter import Chapter
from mtd.course.contest import NotAdmitted
from mtd.course.lesson import LessonError

CHAPTERS = {one.lesson.number: one for one in chapter.all_chapters()}
NUMBERS = [15, 19, 21, 27, 28, 30]


def judge_of(number: int) -> Any:
    return CHAPTERS[number].judge


def test_which_there_are() -> None:
    assert [*CHAPTERS] == NUMBERS
    assert chapter.named("slow_links") == CHAPTERS[19] == chapter.named("19_overlap")
    assert chapter.named("mine.py") is None and chapter.named("nothing") is None
    with pytest.raises(LessonError, match="lesson 13 has no open chapter; lessons 15, 19, 21, 27, 28, 30"):
        chapter.named("13")


STEPS = [(number, step) for number, one in CHAPTERS.items() for step in lesson_judging.chapter_steps(one)]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "step"), STEPS, ids=[f"{n}-{s.name}" for n, s in STEPS])
def test_a_chapter_is_as_it_should_be(number: int, step: lesson_judging.Step) -> None:
    """The same as `mtd dev check` judges."""
    assert step.run() == ""


def test_a_chapter_that_is_not_as_it_should_be(tmp_path: Path) -> None:
    ours = CHAPTERS[15]
    folder = tmp_path / "open"
    shutil.copytree(ours.folder, folder)
    bent = dataclasses.replace(ours, folder=folder)
    steps = {step.name: step for step in lesson_judging.chapter_steps(bent)}
    (folder / "text.md").write_text(ours.text + " word" * 600)
    assert "600 are the most" in steps["chapter whole"].run()
    (folder / "text.md").write_text("A task.")
    assert steps["chapter whole"].run() == "text.md does not say mtd contest 15 --begin"
    (folder / "start.py").write_text("")
    assert steps["chapter begun"].run().startswith("start.py is refused: unknown_network.py is empty")
    (folder / "start.py").write_text(ours.start)
    (folder / "best.py").write_text(ours.start)
    assert "start.py" in steps["chapter begun"].run() or "best.py" in steps["chapter begun"].run()
    cheat = ours.cheats[0].stem
    (folder / "cheats" / f"{cheat}.py").write_text('"""\nRefused: it is too good\n"""\n')
    assert steps[f"cheat {cheat}"].run().startswith("it is refused, but with: ")
    (folder / "cheats" / f"{cheat}.py").write_text('"""\nRefused: no\n"""\n' + ours.start)
    assert steps[f"cheat {cheat}"].run().startswith("it is not refused, and takes ")
    (folder / "chapter.toml").write_text("title = 1")
    with pytest.raises(LessonError, match=r"open/chapter\.toml lacks"):
        records.read(folder / "chapter.toml", chapter.Chapter)


@pytest.mark.parametrize("number", NUMBERS)
def test_our_answer_with_other_comments_is_no_answer(number: int) -> None:
    text = '"""Mine."""\n# mine\n' + CHAPTERS[number].best.partition('"""\n')[2]
    with pytest.raises(NotAdmitted, match="is our answer, word for word"):
        judging.held(CHAPTERS[number], text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "slow_links.py is empty: write def buckets"),
        ("def buckets(task)", "line 1 is not Python"),
        ("x = 1", "has no function buckets"),
        ("import os\n\ndef buckets(task):\n    return []", "line 1: it may not import os"),
        ("from dataclasses import sys\ndef buckets(task): ...", "it may not import sys from dataclasses"),
        ("import statistics\ndef buckets(task):\n    statistics.sys", "line 3: it may not use .sys"),
        ("def buckets(task):\n    return getattr(task, 'net')", "it may not use getattr"),
        ("def buckets(task):\n    return 1 / 0", "fails in line 2: ZeroDivisionError"),
        ("raise SystemExit\ndef buckets(task): ...", "cannot be run: SystemExit"),
        ("def buckets(task):\n    return 7", "cannot be read"),
        ("def buckets(task):\n    return [([0, 0], 'ring')]", "layer 0 is in 2 buckets"),
        ("def buckets(task):\n    return [(range(11), 'ring')]", "there is no layer 10"),
        ("def buckets(task):\n    return [(range(10), 'ring'), ([], 'ring')]", "a bucket is empty"),
    ],
)
def test_wrong_files_are_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(NotAdmitted) as refused:
        judging.held(CHAPTERS[19], text)
    assert said in str(refused.value)


# ------------------------------------------------------------------------------- 15: unknown networks


def test_no_all_reduce_and_no_reservation_is_below_the_floor() -> None:
    judge = judge_of(15)
    nets = (Links(1_000_000, 100), Links(10, 1000), Links(10**9, 1))
    for ranks, nbytes, links in itertools.product((1, 2, 3, 5, 8, 13), (0, 1, 7, 1000, 10**6), nets):
        floor = judge.floor(judge.Job(ranks, nbytes), links) / judge.SECOND * 1000
        for name in (name for name, each in known("all_reduce").items() if each.serves(ranks)):
            takes = judge.takes(name, ranks, nbytes, links)
            assert takes >= floor * (1 - 1e-9), (name, ranks, nbytes, links)
            for part in (0, 0.5, 1, 2):
                assert judge.cost(part * takes, takes) >= takes


def test_measuring_never_takes_less_than_the_link_and_counts() -> None:
    judge = judge_of(15)
    race = judge.RACES[0]
    meter = judge.Meter(race)
    for nbytes in (0, 1000, 10**6) * 5:
        least = (race.links.alpha + race.links.beta * nbytes) / 10**9
        assert least <= meter.send(nbytes) <= 1.2 * least
    assert meter.count == 15 and meter.spent > 0
    with pytest.raises(NotAdmitted, match="a whole number of bytes"):
        meter.send(-1)
    with pytest.raises(NotAdmitted, match="and goes on"):
        for _ in range(judge.MOST):
            meter.send(0)


def test_a_network_of_ones_own(tmp_path: Path) -> None:
    found = judging.held(CHAPTERS[15], CHAPTERS[15].start, networks=["sim://?latency=9us&rate=1GB/s"])
    assert len(found.races) == 1 and found.mine.score > 1
    with pytest.raises(NotAdmitted, match="have networks of their own"):
        judging.held(CHAPTERS[19], CHAPTERS[19].start, networks=["sim://"])


# ------------------------------------------------------------------------------- 19: slow links


def small_tasks() -> Iterator[Any]:
    judge = judge_of(19)
    for nic in ("per_node", "per_gpu"):
        net = f"two_level:nodes=2,gpus=2,intra=2us/50GB/s,inter=30us/10Gb/s,nic={nic}"
        yield judge.Task(nic, 2, 2, (400_000, 4_000, 200_000), (0.1, 0.3, 0.05), net)


def test_all_ways_to_cut_three_layers_are_above_the_bound() -> None:
    judge, best = judge_of(19), {}
    cuts = ([[0, 1, 2]], [[0], [1, 2]], [[0, 1], [2]], [[0], [1], [2]], [[1], [0], [2]], [[0, 2], [1]])
    for task in small_tasks():
        for cut, name in itertools.product(cuts, judge.PLAIN):
            answer = [(layers, name) for layers in cut]
            found = judge.play(lambda _, answer=answer: answer, task).time
            assert found >= judge.least(task)
            best[task.name] = min(found, best.get(task.name, found))
        assert best[task.name] < 2 * judge.least(task)  # and the bound is no empty one


def test_the_sums_are_real_and_take_the_time_that_is_counted() -> None:
    judge = judge_of(19)
    for task in small_tasks():
        answer = judge.read([([0, 1], "hierarchical"), ([2], "recursive_doubling")], task)
        assert judge.measured(answer, task) == judge.measured(answer, task, shapes=True)


# ------------------------------------------------------------------------------- 21: little memory


def test_all_answers_for_two_layers_are_above_the_bound_of_the_memory_that_they_take() -> None:
    judge = judge_of(21)
    task = judge.Task("small", 2, (32, 96), (2, 5), 10**9, 0.02, 2e-5)
    choices = list(itertools.product(judge.KINDS, (False, True)))
    answers = [[(1, *one), (1, *other)] for one, other in itertools.product(choices, repeat=2)]
    limited = 0
    for answer in answers + [[(2, *choice)] for choice in choices]:
        found = judge.play(lambda _, answer=answer: answer, task)
        cap = round(1000 * found.memory) + 50  # as it is rounded
        tight = dataclasses.replace(task, cap=cap)
        assert found.time >= judge.least(tight), answer
        limited += judge.least(tight) > judge.least(task)
    assert judge.least(dataclasses.replace(task, cap=350_000)) > judge.least(task)


def test_the_knapsack_is_the_best_of_all_subsets() -> None:
    judge = judge_of(21)
    for cap in range(0, 2_500_000, 250_000):
        task = judge.Task("", 3, (32, 64, 16, 128), (3, 1, 4, 2), cap, 0.02, 1e-5)
        room = cap - 3 * sum(task.parameters) / 3
        best = 0
        for kept in itertools.product((False, True), repeat=4):
            before = list(itertools.accumulate((k * a for k, a in zip(kept, task.activations, strict=True)), initial=0))
            needs = [b + a + p / 2 for b, a, p in zip(before, task.activations, task.parameters, strict=False)]
            if max(*needs, before[-1]) <= room:
                best = max(best, sum(k * ms for k, ms in zip(kept, task.ms, strict=True)))
        assert judge.most_kept(task) == best


def test_an_answer_trains_as_one_rank_does() -> None:
    judge = judge_of(21)
    task = judge.Task("small", 3, (8, 12, 8), (1, 1, 1), 10**9, 0.02, 1e-5)
    units = [(1, "NO_SHARD", True), (1, "FULL_SHARD", False), (1, "SHARD_GRAD_OP", True)]

    def losses(model: Any, device: str) -> list[float]:
        import minitorch_dist as torch
        from minitorch_dist.optim import Adam

        x = torch.arange(128.0, dtype=torch.float64).view(4, 32).to(device) / 64
        optimizer = Adam(model.parameters(), lr=0.01)
        return [judge.step(model, optimizer, x).item() for _ in range(3)]

    def alone() -> list[float]:
        from minitorch_dist import nn

        layers = [judge.Layer(h, ms) for h, ms in zip(task.hidden, task.ms, strict=True)]
        return losses(nn.Sequential(*layers), "cpu")

    golden = sim.run(alone, 1).results[0]
    found = sim.run(lambda: losses(judge.wrapped(task, units), "cuda"), 3, memory="1GB").results
    for each in found:
        assert each == pytest.approx(golden, rel=1e-12)
    assert golden[2] < golden[0]


# ------------------------------------------------------------------------------- 27: unequal stages


def orders_of(stage: int, kinds: tuple[Any, ...]) -> list[list[Action]]:
    """All orders of two micro-batches on one stage."""
    actions = [Action(stage, kind, m) for m in (0, 1) for kind in kinds]
    found = []
    for order in itertools.permutations(actions):
        places = {action: place for place, action in enumerate(order)}
        if all(
            places[Action(stage, a, m)] < places[Action(stage, b, m)]
            for m in (0, 1)
            for a, b in itertools.pairwise(kinds)
        ):
            found.append(list(order))
    return found


@pytest.mark.slow
def test_all_orders_of_two_stages_are_above_the_bound() -> None:
    judge = judge_of(27)
    task = judge.Task("small", 2, 2, (1, 4, 2), (1, 1, 1), 99)
    times, stuck = [], 0
    whole, split = (F, B), (F, I, W)
    pairs = [*itertools.product(orders_of(0, whole), orders_of(1, whole))]
    pairs += [*itertools.product(orders_of(0, split)[::6], orders_of(1, split)[::5])]
    for cut, (first, second) in itertools.product((1, 2), pairs):
        try:
            answer = [(0, cut), (1, 3 - cut)], [first, second]
            times.append(judge.play(lambda _, answer=answer: answer, task).time)
        except NotAdmitted as error:
            assert "wait for each other" in str(error)
            stuck += 1
    assert min(times) >= judge.least(task) and stuck
    assert min(times) < 1.4 * judge.least(task)


def test_equal_layers_take_what_the_papers_say() -> None:
    """1F1B, four equal stages, eight micro-batches: 3 (M + P - 1) ms, and the messages."""
    judge = judge_of(27)
    task = judge.Task("equal", 4, 8, (1, 1, 1, 1), (1, 1, 1, 1), 4)
    orders = everyones(one_forward_one_backward, Pipe(4, 8))
    answer = [(rank, 1) for rank in range(4)], orders
    found = judge.play(lambda _: answer, task)
    assert 33 < found.time < 33.5 and found.memory == 4
    assert judge.play(judge.one_rank, task).time == 96
    with pytest.raises(NotAdmitted, match="there is no stage 4"):
        judge.play(lambda _: (answer[0], [*orders[:3], [Action(4, F, 0)]]), task)


# ------------------------------------------------------------------------------- 30: which layout


def layouts_of_a_small_model() -> Iterator[tuple[Any, dict[str, Any]]]:
    judge = judge_of(30)
    task = judge.Task("small", 2, 256, 512, 512, 256, 8, 1 << 40, 2, 1e12, 1e11, gpus=4)
    yield task, {"fsdp": 4}
    yield task, {"fsdp": 2, "dp": 2, "micro": 2}
    yield task, {"tp": 2, "pp": 2}
    yield task, {"fsdp": 4, "cp": 2, "keep": True}


@pytest.mark.slow
def test_no_layout_of_a_small_model_is_below_the_bound() -> None:
    judge = judge_of(30)
    for task, answer in layouts_of_a_small_model():
        assert judge.play(lambda _, answer=answer: answer, task).time > judge.least(task), answer


def test_our_answer_takes_the_fastest_layouts_that_we_know() -> None:
    """Or one that is a few per cent slower. Each race wants another kind of layout."""
    judge = judge_of(30)
    best = vars(loading.load(CHAPTERS[30].folder / "best.py", "best_of_layouts"))["layout"]
    for task in judge.RACES:
        known = judge.simulated(judge.FASTEST[task.name], task)
        mine = judge.play(best, task)
        assert known.fits and judge.least(task) < 1000 * known.seconds
        assert mine.time < 1.15 * 1000 * known.seconds, (task.name, mine)
    kinds = {(one.tensor > 1, one.pipeline, one.context > 1) for one in judge.FASTEST.values()}
    assert len(kinds) == 4


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("[8]", "an answer is a dictionary"),
        ("{'fspd': 8}", "a layout has no 'fspd' (perhaps fsdp?)"),
        ("{'fsdp': 0}", "fsdp is a whole number above 0, not 0"),
        ("{'fsdp': 8.0}", "fsdp is a whole number above 0, not 8.0"),
        ("{'fsdp': 8, 'micro': 3}", "micro is 1, 2, 4, 8, not 3"),
        ("{'fsdp': 8, 'checkpoint': 'all'}", "checkpoint is none, selective, op, full, not 'all'"),
        ("{'fsdp': 4}", "takes 4 GPUs, and there are 8"),
        ("{'pp': 8}", "4 layers are fewer than 8 stages"),
        ("{'fsdp': 8, 'micro': 8}", "is no multiple of 8 ranks with data"),
        ("{'fsdp': 8, 'stages': 2}", "several stages of a rank need a pipeline"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(answer: str, said: str) -> None:
    with pytest.raises(NotAdmitted) as refused:
        judging.held(CHAPTERS[30], f"def layout(task):\n    return {answer}")
    assert said in str(refused.value)


def test_a_layout_that_does_not_fit_says_what_holds_the_memory() -> None:
    judge = judge_of(30)
    for task, answer in layouts_of_a_small_model():
        tight = dataclasses.replace(task, memory=1 << 20)
        with pytest.raises(NotAdmitted, match=r"does not fit: .* GiB \(parameter .*, and a GPU has"):
            judge.play(lambda _, answer=answer: answer, tight)
        break


# ------------------------------------------------------------------------------- 28: a shared folder


def small_transports(judge: Any, wires: Any) -> Iterator[Any]:
    """All ways to choose: a log for a pair or for all, kept back or not, listed first or not."""
    for is_common, keeps, lists in itertools.product((False, True), repeat=3):

        def transport(end: Any, is_common: bool = is_common, keeps: bool = keeps, lists: bool = lists) -> Any:
            kept: dict[str, bytes] = {}
            others = [peer for peer in range(end.world_size) if peer != end.rank]
            logs = {f"{peer}-{'all' if is_common else end.rank}": peer for peer in others}
            places = dict.fromkeys(logs, 0)

            def send(dst: int, header: bytes, payload: bytes) -> None:
                with end.lock:
                    if dst == end.rank:
                        return end.deliver(dst, header, payload)
                    log = f"{end.rank}-{'all' if is_common else dst}"
                    message = wires.record(bytes([dst, len(header)]) + header + payload)
                    kept[log] = kept.get(log, b"") + message
                    return None if keeps else write()

            def write() -> None:
                while kept:
                    end.append(*kept.popitem())

            def look() -> None:
                sizes = end.sizes() if lists else {}
                for log, peer in logs.items():
                    if not lists or sizes.get(log, 0) > places[log]:
                        found, behind = wires.records(end.read(log, places[log]))
                        places[log] += behind
                        for message in found:
                            if message[0] == end.rank:
                                head = 2 + message[1]
                                end.deliver(peer, message[2:head], message[head:])

            return send, write, look

        yield transport


@pytest.mark.slow
def test_all_small_transports_keep_the_contract_and_are_above_the_bound() -> None:
    judge = judge_of(28)
    tasks = [
        judge.Task(f"{ranks} ranks", ranks, rounds, peers, count, nbytes, ms)
        for ranks, rounds, peers, count, nbytes, ms in (
            (2, 3, 1, 2, 100, 0.0),
            (3, 2, 2, 1, 50_000, 0.0),
            (5, 2, 2, 2, 0, 2.0),
        )
    ]
    with CHAPTERS[28].modules():
        for transport in small_transports(judge, judge.simple.wires):
            judge.demand_right(transport)
            for task in tasks:
                found = judge.play(transport, task)
                assert found.time >= judge.least(task) - 1e-9
                assert found == judge.play(transport, task)  # the same on every machine
        assert min(
            judge.play(one, tasks[2]).time for one in small_transports(judge, judge.simple.wires)
        ) < 2 * judge.least(tasks[2])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 7", "an answer is three functions, send, write and look, not 7"),
        ("return print, print, 1", "an answer is three functions"),
        ("end.append('a', 'text')", "append takes a name and bytes, not 'a' and a str"),
        ("end.read('a', -1)", "read begins at a byte of the log, not at -1"),
        ("end._clock", "it may not use ._clock"),
    ],
)
def test_a_transport_that_cannot_be_is_refused(body: str, said: str) -> None:
    with pytest.raises(NotAdmitted) as refused:
        judging.held(CHAPTERS[28], f"def transport(end):\n    {body}\n")
    assert said in str(refused.value)


# ------------------------------------------------------------------------------- as a learner meets them


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made, _ = workspace.make(tmp_path / "course")
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("COLUMNS", "80")
    return made.folder


def test_the_command_begins_judges_and_remembers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str) -> str:
        status = cli.main(["contest", *words])
        captured = capsys.readouterr()
        text = captured.out + captured.err
        assert max(map(len, text.split("\n"))) <= 80
        return f"{status} " + " ".join(text.split())

    assert "Lesson 20 is a part of lesson 21 now" in said("20")
    assert "A network without a data sheet" in said("15") and "--begin writes" in said("15")
    assert "wrote 15_which_one/unknown_network.py" in said("15", "--begin")
    assert "it stays as it is" in said("15", "--begin")
    text = said("15")
    assert "best known" in text and "the bound 1.16285 ms" in text and text.startswith("0")
    assert "at least ⌈log₂ P⌉ α" in said("15", "--why")
    assert "How little must you measure" in said("15", "--text")
    assert said("15_which_one/unknown_network.py") == text
    file = folder / "15_which_one" / "unknown_network.py"
    file.write_text("")
    assert said("15").startswith("2 mtd contest: unknown_network.py is empty")
    assert said(str(file)).startswith("2 mtd contest: unknown_network.py is empty")
    file.write_bytes(b"\xff")
    assert "is not UTF-8" in said("15")
    assert "lesson 13 has no open chapter" in said("13")
    assert "--text and --why are for these" in said("mine.py", "--why")
    assert "mtd contest 27" in said()
    assert cli.main(["list", "--all"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert "of 4 (2.78 × the bound)" in listed and "open chapter: mtd contest 19" in listed


def test_an_answer_uses_the_learners_own_lesson(folder: Path) -> None:
    """Not before it passed: until then ours is taken."""
    own = folder / "15_which_one"
    ours = CHAPTERS[15].lesson.source.solution()
    (own / "choice.py").write_text(ours.replace("return min(PRICES", "raise KeyError('mine')\n    return min(PRICES"))
    text = "from choice import choose\n\ndef reserve(jobs, send):\n    class Links:\n        alpha, beta = 1, 1\n    return [(choose(job.ranks, job.nbytes, Links), 1) for job in jobs]\n"
    assert judging.held(CHAPTERS[15], text).place
    with pytest.raises(NotAdmitted, match="KeyError: 'mine'"):
        judging.held(CHAPTERS[15], text, solved={15: own})


def test_chapters_of_another_room(tmp_path: Path) -> None:
    assert chapter.all_chapters(tmp_path) == []
    made: Chapter = CHAPTERS[15]
    assert made.judge is made.judge and "A network" in str(made)
