"""Files of models, devices, networks and traces that are wrong: an error says in which file, and what, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitorch_dist import sim
from minitorch_dist.sim import nets
from mtd import cli, traces
from mtd.planning import clusters, model_files, search
from mtd.traces import chakra
from mtd.traces.chakra import NodeKind, TraceNode
from mtd.traces.protobuf import TraceError

MODEL = 'kind = "gpt"\nlayers = 2\nwidth = 64\nheads = 4\nwords = 96\nsequence = 16\nbatch = 8\n'
DEVICE = '[mine]\nbandwidth = "1TB/s"\nINSERTED\n[mine.peak]\nbfloat16 = "100T"\n'


def model_error(text: str, folder: Path) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.toml") as error:
        model_files.read(str(path))
    return str(error.value)


@pytest.mark.parametrize("word", model_files.NEEDED)
def test_a_word_is_missing(word: str, tmp_path: Path) -> None:
    lines = [line for line in MODEL.splitlines() if not line.startswith(f"{word} ")]
    assert f"{word} missing" in model_error("\n".join(lines), tmp_path)


@pytest.mark.parametrize("word", model_files.WHOLE)
@pytest.mark.parametrize("value", ["0", "-2", "2.5", '"two"', "true", "false", "[2]", '""', "0x" + 99 * "f"])
def test_a_size_that_is_none(word: str, value: str, tmp_path: Path) -> None:
    """Also where no line may be there: a 0 is no way to say nothing."""
    lines = [line for line in MODEL.splitlines() if not line.startswith(f"{word} ")]
    said = model_error("\n".join([*lines, f"{word} = {value}"]), tmp_path)
    assert f"{word} is a whole number above 0" in said and len(said) < 400 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("layer = 3", "no 'layer' (perhaps layers or dense_layers?)"),
        ("name = 'x'", "no 'name'"),
        ("gradients = ['float32']", "float32 or bfloat16, not ['float32']"),
        ("gradients = {a = 1}", "float32 or bfloat16, not {'a': 1}"),
        ("attention = ['tiles']", "tiles or whole, not ['tiles']"),
        ("source = 3", "source is a text, not 3"),
        ("attention = 'whole'\ndropout = 'much'", "below 1, not 'much'"),
        ("layers = 3", "no file of a model"),
        ("kv_heads = 3", "kv_heads = 3 does not divide heads = 4"),
        ("layers", "no file of a model"),
    ],
)
def test_a_line_that_is_wrong(line: str, said: str, tmp_path: Path) -> None:
    assert said in model_error(f"{MODEL}{line}\n", tmp_path)


def test_a_near_word_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(f"\ufeff{MODEL}", encoding="utf-8")  # as Notepad writes it
    assert model_files.read("mine.toml").layers == 2
    for name, said in (
        ("mine", "perhaps mine.toml"),
        ("mien.toml", "perhaps mine.toml"),
        ("Llama3-70B", "perhaps llama3-70b"),
        ("a\0.toml", "null byte"),
        ("a" * 5000 + ".toml", "too long"),
    ):
        with pytest.raises(ValueError, match=said):
            model_files.read(name)
    assert "perhaps gpt" in model_error(MODEL.replace('"gpt"', '"gtp"'), tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("top = 'x'", "top is a share above 0 and at most 1, not 'x'"),
        ("top = 2", "top is a share above 0 and at most 1, not 2"),
        ("top = nan", "top is a share above 0 and at most 1, not nan"),
        ("half = inf", "half is a number"),
        ("contention = 'x'", "contention is a number"),
        ("contention = true", "contention is a number"),
        ("memory = [1]", "memory cannot be"),
        ("launch = 'soon'", "not a quantity"),
        ("bandwith = 3", "no bandwith"),
    ],
)
def test_a_device_that_is_wrong(line: str, said: str, tmp_path: Path) -> None:
    _refused_device(DEVICE.replace("INSERTED", line), said, tmp_path)


@pytest.mark.parametrize("rate", ["0", "-5", "nan", "inf", "true", "[1]", "'fast'"])
def test_a_rate_that_is_none(rate: str, tmp_path: Path) -> None:
    plain = DEVICE.replace("INSERTED", "")
    _refused_device(plain.replace('"1TB/s"', rate), "bandwidth|rate|quantity", tmp_path)
    _refused_device(plain.replace('"100T"', rate), "peak|quantity", tmp_path)


def _refused_device(text: str, said: str, folder: Path) -> None:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"mine\.toml.*({said})"):
        sim.gpu(str(path))


def test_a_plan_takes_the_efficiency_that_a_device_has() -> None:
    assert clusters.cluster("a100-80", 8, "nvlink8+400G").device.top == 0.771
    assert clusters.cluster("a100-80", 8, "nvlink8+400G", top=0.5).device.top == 0.5


# --------------------------------------------------------------------------------------- networks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("two_leevl:nodes=1", "perhaps two_level"),
        ("fattree:leaves=2", "perhaps fat_tree"),
        ("two_level:nodes=a,gpus=2,intra=1us/1GB/s,inter=1us/1GB/s", "nodes is a whole number, not 'a'"),
        ("two_level:nodes=0,gpus=2,intra=1us/1GB/s,inter=1us/1GB/s", "at least one node"),
        ("two_level:nodes=2,gpus=-1,intra=1us/1GB/s,inter=1us/1GB/s", "at least one node"),
        ("two_level:node=1", "there is no 'node'; there are nodes, gpus, intra, inter, nic"),
        ("torus:shape=2x,link=1us/1GB/s", "a side of the shape is a whole number, not ''"),
        ("mesh:shape=2,link=1us/1GB/s,wraps=no", "wraps is true or false, not 'no'"),
    ],
)
def test_a_network_that_is_wrong(text: str, said: str) -> None:
    with pytest.raises(ValueError) as error:
        nets.read(text)
    assert said in str(error.value)


def test_too_few_places_are_found_before_anything_runs() -> None:
    """Also where ranks are folded: only one of them would have asked for a route."""
    narrow = sim.two_level(2, 2, sim.link("2us", "450GB/s"), sim.link("5us", "400Gb/s"))

    def refuse() -> None:
        raise AssertionError("it ran")

    for fold in (False, True):
        with pytest.raises(ValueError, match="rank 4 has no place: a network of 2 nodes with 2 ranks"):
            sim.run(refuse, 8, net=narrow, shapes=True, fold=fold)
    with pytest.raises(ValueError, match="rank 4 has no place"):
        clusters.cluster("h100", 8, "two_level:nodes=2,gpus=2,intra=2us/1GB/s,inter=5us/1GB/s")
    with pytest.raises(ValueError, match="write it like nvlink8"):
        clusters.cluster("h100", 8, "nvlnk8+400G")


def test_a_run_refuses_what_names_nothing() -> None:
    """Before any rank begins: a device by a wrong name, a straggler that is no rank, a network that is none."""

    def refuse() -> None:
        raise AssertionError("it ran")

    wrong: list[tuple[dict[str, Any], str]] = [
        ({"device": "h10o"}, "perhaps H100-SXM"),
        ({"device": 3}, "3 is no device"),
        ({"device": [sim.gpu("h100")]}, "1 devices were given for 2 ranks"),
        ({"speeds": {2: 0.5}}, "rank 2, but the ranks are 0 to 1"),
        ({"net": 3}, "3 is not a network"),
    ]
    for options, said in wrong:
        with pytest.raises((TypeError, ValueError), match=said):
            sim.run(refuse, 2, shapes=True, **options)
    assert sim.run(lambda: None, 2, device="h100").time == 0


def test_the_nearest_layout_is_told_where_none_divides() -> None:
    model = model_files.ModelSizes("m", "gpt", 2, 64, 4, 96, 16, 8)
    layout, wrong = search.nearest_miss(model, clusters.cluster("h100", 5, "nvlink8+400G"))
    assert layout.ranks == 5 and len(wrong) == 1 and "8 is no multiple of 5 ranks" in wrong[0]


# ---------------------------------------------------------------------------------------- traces


def test_a_file_of_one_rank_is_missing(tmp_path: Path) -> None:
    nodes = [TraceNode(0, "a", NodeKind.COMPUTE, duration=5)]
    traces.write_chakra([nodes] * 3, tmp_path / "step")
    (tmp_path / "step.1.et").unlink()
    with pytest.raises(TraceError, match=r"no file .*step\.1\.et, but there is one of rank 2"):
        traces.read_chakra(tmp_path / "step")
    with pytest.raises(TraceError, match=r"no file .*none\.0\.et; a trace has one for each rank"):
        traces.read_chakra(tmp_path / "none")


def test_a_trace_that_is_cut_between_two_nodes_names_the_node() -> None:
    """Such a file is whole by its own rules. The run finds that one rank has less to do."""
    call = TraceNode(3, "sum", NodeKind.COLLECTIVE, collective="all_reduce", nbytes=8)
    whole, empty = chakra.encoded(0, [call]), chakra.encoded(1, [])
    cut = whole[: len(empty)]
    assert cut == empty
    with pytest.raises(Exception) as error:
        traces.run_trace([chakra.decoded(whole), chakra.decoded(cut)])
    assert "in node 3 (sum) of the trace of rank 0" in error.value.__notes__


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--ranks", "3", "t.0.et"], "--ranks goes with a script"),
        (["run", "--device", "h100", "t.0.et"], "--device goes with a script"),
        (["run", "--seeds", "3", "t.0.et"], "--seeds goes with a script"),
        (["run", "--chakra", "no/such", "t.0.et"], "no/such.0.et: No such file"),
        (["run", "--page", "no/such.html", "t.0.et"], "no/such.html: No such file"),
        (["show", "none.json"], "there is no file none.json"),
        (["show", "empty.json"], "no span in it"),
        (["show", "--step", "empty.json"], "--step needs a journal"),
        (["show", "--trace", "x.json", "empty.json"], "--trace needs a journal"),
    ],
)
def test_a_command_refuses_a_trace(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    traces.write_chakra([[TraceNode(0, "a", NodeKind.COMPUTE)]], "t")
    Path("empty.json").write_text('{"traceEvents": []}', encoding="utf-8")
    assert cli.main(words) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert {each.name for each in tmp_path.iterdir()} == {"t.0.et", "empty.json"}


@pytest.mark.parametrize(
    "line",
    [
        "x.sum().item()",
        "float(x.sum())",
        "bool(x.sum() > 0)",
        "x.numpy()",
        "x.tolist()",
        "'%f' % x.sum()",
        "range(x[0].long())",
        "x.sum() in (1, 2)",
        "assert torch.isfinite(x).all()",
        "torch.zeros(x[0].long())",
        "x[x > 0]",
        "max(x)",
    ],
)
def test_a_program_that_asks_for_values_is_told_where(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("asks.py").write_text(f"import minitorch_dist as torch\n\nx = torch.ones(4)\n{line}\n", encoding="utf-8")
    assert cli.main(["run", "--ranks", "2", "--shapes", "asks.py"]) == 1
    said = capsys.readouterr().err
    assert "at asks.py:4" in said and "sim.value(tensor, default)" in said and "Traceback" not in said
