"""A layout in words: what it means, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from mtd import cli
from mtd.cli import plan_progress
from mtd.planning import layout_words, search
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes

MODEL = ModelSizes("any", "llama", 12, 64, 8, 128, 32, 64)


def layout(text: str, gpus: int, model: ModelSizes = MODEL) -> TrainingLayout:
    return layout_words.read(text, model, gpus)[1]


def test_words_that_are_usual_may_be_left_out() -> None:
    assert layout("fsdp=8", 8) == layout("fsdp=8 tp=1 pp=1 cp=1 micro=1 recompute=none zero=3 sums=shards", 8)
    found = layout("dp=2 fsdp=2 tp=2 recompute=full", 8)
    assert (found.replicas, found.shards, found.tensor, found.checkpoint) == (2, 2, 2, "full")


def test_shares_replicas_where_zero_is_said() -> None:
    """dp=8 zero=1 is Megatron-LM's distributed optimizer: eight ranks share it."""
    found = layout("dp=8 zero=1", 8)
    assert (found.shards, found.replicas, found.zero) == (8, 1, 1)
    assert (layout("dp=8", 8).shards, layout("dp=8", 8).replicas) == (1, 8)


def test_accumulate_decides_the_batch() -> None:
    model, found = layout_words.read("fsdp=4 cp=2 micro=3 accumulate=5", MODEL, 8)
    assert found.shards == 8 and found.data == 4
    assert model.batch == 4 * 3 * 5 and found.micro_batches(model) == 5


def test_the_ends_of_a_pipeline_have_a_layer_fewer_where_that_divides() -> None:
    assert not layout("pp=4", 4).light_ends
    assert layout("pp=7 accumulate=7", 7).light_ends


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "says nothing"),
        ("fsdp=8 mirco=2", "no word 'mirco' .perhaps micro"),
        ("fsdp=8 fsdp=8", "twice"),
        ("fsdp=x", "fsdp is a whole number above 0, not 'x'"),
        ("fsdp=0", "not '0'"),
        ("fsdp", "not ''"),
        ("fsdp=٣", "not '٣'"),
        ("micro=-1", "not '-1'"),
        ("fsdp=99999999999999999999", "not '9999"),
        ("fsdp=8 zero=4", "zero is 1, 2, 3, not '4'"),
        ("fsdp=8 recompute=some", "not 'some'"),
        ("fsdp=4", "takes 4 GPUs, and there are 8"),
        ("tp=8 pp=2", "there are 8"),
        ("fsdp=8 vp=2", "pipeline"),
    ],
)
def test_wrong_words_are_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"--layout.*{said}"):
        layout(text, 8)


@given(st.text(max_size=40))
def test_any_text_is_a_layout_or_refused(text: str) -> None:
    try:
        layout(text, 8)
    except ValueError as error:
        assert "--layout" in str(error)


@pytest.mark.parametrize("file", ["-", "one.json"])
def test_the_command_prints_one_object(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "fsdp=4 micro=1 accumulate=2 recompute=full"
    assert cli.main(["plan", "gpt-small", "--gpus", "4", "--layout", words, "--json", file]) == 0
    found = json.loads(capsys.readouterr().out if file == "-" else Path(file).read_text())
    tokens = found["tokens_per_second_per_gpu"]
    assert tokens == pytest.approx(found["batch"] * 64 / found["seconds"] / 4) and found["batch"] == 8
    parts = [nbytes for name, nbytes in found["memory_gib"].items() if name != "together"]
    assert sum(parts) == pytest.approx(found["memory_gib"]["together"]) and found["fits"]
    where = found["where"]
    assert where["computing"] + where["sending"] + where["waiting"] == pytest.approx(1)


def test_an_interrupted_layout_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Short runs that took long are kept. The first command is stopped in the second one, and the next one makes only that."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan_progress, "LONG", -1)
    asked, usual = [], search.run

    def run(*given: Any) -> Any:
        asked.append(given[3:5])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return usual(*given)

    monkeypatch.setattr(search, "run", run)
    command = ["plan", "gpt-small", "--gpus", "4", "--layout", "fsdp=4 accumulate=9", "--json", "-"]
    assert cli.main(command) == 130
    said = capsys.readouterr().err
    assert said.count("simulated in") == 1 and "the same command goes on" in said
    assert cli.main(command) == 0
    out, said = capsys.readouterr()
    assert said.count("simulated before, from .mtd-plan.json") == 1 and len(asked) == 3
    Path(".mtd-plan.json").unlink()
    assert cli.main(command) == 0 and capsys.readouterr().out == out


@pytest.mark.slow
def test_the_command_says_it_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plan", "gpt-small", "--gpus", "4", "--layout", "fsdp=2 tp=2"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "by fsdp2 tp2 micro1 on 4 × H100-SXM" in said and "It fits" in said
    with pytest.raises(SystemExit):
        cli.main(["plan", "gpt-small", "--gpus", "4", "--layout", "fsdp=4", "--page", "p.html"])
    assert "--layout and --page do not go together" in " ".join(capsys.readouterr().err.split())
