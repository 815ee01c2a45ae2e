"""A SummaryWriter hands on to the package that is installed, and says what to install where none is.

The first tests put a small writer in the place of each package. The last one reads real files, where
tensorboard is installed.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd

NAME = "minitorch_dist.utils.tensorboard"
PACKAGES = ("tensorboardX", "tensorboard", "tensorboard.summary")


def opened(monkeypatch: pytest.MonkeyPatch, **packages: Any) -> ModuleType:
    """The module, imported anew where only these packages are installed."""
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, packages.get(name.replace(".", "_")))
    monkeypatch.setitem(sys.modules, NAME, None)  # so that what is imported here goes afterwards
    del sys.modules[NAME]
    return importlib.import_module(NAME)


class Recorder:
    """A writer that keeps its calls."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.made, self.calls = (args, options), []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: self.calls.append((name, args, options))


def test_without_a_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImportError, match=r"pip install tensorboardX.*print the numbers"):
        opened(monkeypatch)


def test_tensorboardx_takes_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    module = opened(monkeypatch, tensorboardX=SimpleNamespace(SummaryWriter=Recorder))
    with module.SummaryWriter("here", flush_secs=3) as writer:
        writer.add_scalar("loss", mtd.tensor(1.5, requires_grad=True), 7)
        writer.add_scalars("both", {"a": mtd.tensor(1), "b": 2.0}, 8)
        writer.add_histogram("w", mtd.ones(2, dtype=mtd.bfloat16), global_step=1)
        writer.add_text("said", "word")
        assert writer.get_logdir() == writer.log_dir == "here"
        with pytest.raises(NotImplementedError, match="print"):
            writer.add_graph(None)
        with pytest.raises(AttributeError):
            writer.no_such_thing  # noqa: B018
    inner = writer._full
    assert inner.made[0] == ("here",) and inner.made[1]["flush_secs"] == 3
    names = [name for name, _, _ in inner.calls]
    assert names == ["add_scalar", "add_scalars", "add_histogram", "add_text", "close"]
    assert all(not isinstance(x, mtd.Tensor) for _, args, _ in inner.calls for x in args)
    assert inner.calls[0][1][1] == np.float32(1.5)
    assert inner.calls[1][1][1] == {"a": 1, "b": 2.0}
    assert inner.calls[2][1][1].dtype == np.float32


def test_tensorboard_alone_takes_scalars(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = SimpleNamespace(Writer=Recorder)
    module = opened(monkeypatch, tensorboard=SimpleNamespace(), tensorboard_summary=summary)
    writer = module.SummaryWriter("here")
    writer.add_scalar("loss", mtd.tensor(1.5))
    writer.add_scalars("a/b", {"x": 1, "y": 2}, 3)
    assert list(writer._writers) == ["here", "here/a_b_x", "here/a_b_y"]
    assert writer._writers["here"].calls == [("add_scalar", ("loss", 1.5, 0), {"wall_time": None})]
    for call in ("add_image", "add_histogram"):
        with pytest.raises(NotImplementedError, match="pip install tensorboardX"):
            getattr(writer, call)("x", mtd.zeros(2))
    with pytest.raises(NotImplementedError, match="tensorboardX"):
        module.SummaryWriter("here", purge_step=1)
    kept = list(writer._writers.values())
    writer.flush()
    writer.close()
    assert [w.calls[-2:] for w in kept] == [[("flush", (), {}), ("close", (), {})]] * 3


def test_a_folder_is_named_by_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module = opened(monkeypatch, tensorboardX=SimpleNamespace(SummaryWriter=Recorder))
    folder = Path(module.SummaryWriter(comment="_small").log_dir)
    assert folder.parent == Path("runs") and folder.name.endswith("_small")


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
def test_files_hold_what_torchs_hold(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    theirs = pytest.importorskip("torch.utils.tensorboard")
    ours = importlib.import_module(NAME)
    reading = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    found = []
    for name, module in (("theirs", theirs), ("ours", ours)):
        with module.SummaryWriter(tmp_path / name) as writer:
            for step in range(3):
                writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_scalars("both", {"a": 1, "b": 2.5}, 4)
        for folder, tag in (("", "loss"), ("both_a", "both"), ("both_b", "both")):
            place = tmp_path / name / folder
            if not place.exists():  # tensorboardX makes a folder in a folder
                place = tmp_path / name / folder.replace("_", "/")
            read = reading.EventAccumulator(str(place)).Reload()
            if tag in read.Tags()["scalars"]:
                points = [(p.step, p.value) for p in read.Scalars(tag)]
            else:
                points = [(p.step, p.tensor_proto.float_val[0] if p.tensor_proto.float_val
                           else np.frombuffer(p.tensor_proto.tensor_content, np.float32)[0])
                          for p in read.Tensors(tag)]  # fmt: skip
            found.append((folder, points))
    assert found[:3] == found[3:]
    for method in ("__init__", "add_scalar", "add_scalars"):
        mine = inspect.signature(getattr(ours.SummaryWriter, method))
        assert list(mine.parameters) == list(
            inspect.signature(getattr(theirs.SummaryWriter, method)).parameters
        )
