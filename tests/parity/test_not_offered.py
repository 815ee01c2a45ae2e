"""What needs a compiler or the network: imports go on, calls say what to do instead."""

from __future__ import annotations

import importlib
import operator
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist import jit, not_offered

PAGE = Path(__file__).parents[2] / "docs" / "to_pytorch.md"
CALLS = {
    "onnx": "export", "fx": "symbolic_trace", "export": "export", "hub": "load",
    "ao.quantization": "quantize_dynamic", "jit": "save", "nn.utils.parametrizations": "weight_norm",
    "_dynamo": "explain", "_inductor": "compile",
}  # fmt: skip
each = pytest.mark.parametrize("name", CALLS)


def names_of(module: Any) -> list[str]:
    """The names that a module's `__getattr__` finds."""
    cells = dict(
        zip(module.__getattr__.__code__.co_freevars, module.__getattr__.__closure__, strict=True)
    )
    return sorted(cells["listed"].cell_contents)


@each
def test_calls_say_what_to_do(name: str) -> None:
    module = importlib.import_module(f"minitorch_dist.{name}")
    assert CALLS[name] in names_of(module)
    for public in names_of(module):
        sentence = rf"^{re.escape(name)}\.{public} is not offered\. [A-Z].*\.$"
        with pytest.raises(NotImplementedError, match=sentence):
            getattr(module, public)(mtd.nn.Linear(1, 1), "model.pt", strict=True)
    with pytest.raises(AttributeError, match=f"minitorch_dist.{name}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018


@each
def test_they_open_when_named_and_are_on_the_page(name: str) -> None:
    room: Any = mtd
    for part in name.split("."):
        room = getattr(room, part)
    assert room is importlib.import_module(f"minitorch_dist.{name}")
    assert f"`{name}`" in PAGE.read_text("utf-8")


@each
@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
def test_torch_has_these_names(name: str) -> None:
    pytest.importorskip("torch")
    theirs = importlib.import_module(f"torch.{name}")
    ours = importlib.import_module(f"minitorch_dist.{name}")
    own = {k for k, v in vars(ours).items() if callable(v) and v.__module__ == ours.__name__}
    own -= {"__getattr__"}
    assert [
        k
        for k in (*names_of(ours), *sorted(own))
        if not k.startswith("_") and not hasattr(theirs, k)
    ] == []


def public_modules() -> list[str]:
    """All modules of torch, by its files: to import them takes a minute, and needs other packages."""
    found = find_spec("torch")
    assert found is not None and found.origin is not None
    root = Path(found.origin).parent
    names = set()
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and not any(part.startswith("_") for part in parts):
            names.add(".".join(parts))
    return sorted(names)


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
def test_each_module_of_torch_is_here_or_says_what_to_take() -> None:
    pytest.importorskip("torch")
    names = public_modules()
    assert len(names) > 700 and "nn.utils.prune" in names
    refused = []
    for name in names:
        try:
            importlib.import_module(f"minitorch_dist.{name}")
        except ImportError as error:
            refused.append((name, str(error)))
    bare = [name for name, words in refused if not re.search(r"'\. [A-Z].*\.$", words)]
    others = [name for name in bare if not name.startswith("utils.tensorboard")]
    assert others == []  # that one says what to install


def test_sentences_name_what_is_here() -> None:
    for sentence in not_offered.INSTEAD.values():
        for name in re.findall(r"`([a-z_][A-Za-z_.]+)`", sentence):
            if name not in ("forward", "remove", "minitorch_dist", "utils.tensorboard"):
                assert operator.attrgetter(name)(mtd), sentence


def test_a_missing_module_is_an_import_error_as_any_other() -> None:
    with pytest.raises(
        ModuleNotFoundError,
        match=r"^No module named 'minitorch_dist.utils.benchmark'. Take Python's timeit",
    ):
        importlib.import_module("minitorch_dist.utils.benchmark")
    with pytest.raises(ModuleNotFoundError, match="Multiply the weight with a mask"):
        from minitorch_dist.nn.utils import prune  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        from minitorch_dist.distributions import Nothing  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'minitorch_dist.nothing'$"):
        importlib.import_module("minitorch_dist.nothing")


def test_a_class_may_be_subclassed_and_asked_for() -> None:
    class Own(mtd.fx.Tracer):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

    with pytest.raises(NotImplementedError, match=r"fx\.Tracer is not offered"):
        Own()
    assert not isinstance(mtd.nn.Linear(1, 1), mtd.jit.ScriptModule)
    assert mtd.fx.wrap("len") == "len"
    assert mtd.jit.ScriptModule is mtd.jit.ScriptModule


def test_jit_gives_back_what_it_got_and_says_so_once() -> None:
    jit._tell_once.cache_clear()
    model = mtd.nn.Linear(2, 1)
    with pytest.warns(UserWarning, match="nothing is compiled here") as told:

        @jit.script
        def double(x: mtd.Tensor) -> mtd.Tensor:
            return x * 2

    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jit.script(model) is jit.trace(model, mtd.ones(1, 2), strict=False) is model
        assert jit.trace_module(model, {"forward": mtd.ones(1, 2)}) is model
        assert jit.optimize_for_inference(jit.freeze(model)) is model
    assert double(mtd.ones(2)).tolist() == [2, 2]


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("here", [False, True], ids=["torch", "here"])
def test_notes_to_a_compiler_change_nothing(here: bool) -> None:
    t: Any = mtd if here else pytest.importorskip("torch")

    class Model(t.nn.Module):  # type: ignore[name-defined, misc]
        steps: t.jit.Final[int]

        def __init__(self) -> None:
            super().__init__()
            self.steps = 3

        @t.jit.ignore
        def said(self, x: Any) -> Any:
            return x

        @t.jit.ignore(drop=True)
        def dropped(self, x: Any) -> Any:
            return x

        @t.jit.unused
        def unused(self, x: Any) -> Any:
            return x

        @t.jit.export
        def forward(self, x: Any) -> Any:
            known = t.jit.annotate(int, self.steps)
            if t.jit.is_scripting() or t.jit.is_tracing():
                return x
            return self.dropped(self.unused(self.said(x))) * known

    with t.jit.optimized_execution(False):
        assert Model()(t.ones(2)).tolist() == [3, 3]
    assert not t.onnx.is_in_onnx_export()
    assert t.jit.script_if_tracing(Model.forward) is not None
