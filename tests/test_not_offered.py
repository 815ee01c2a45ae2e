"""Names that torch has and this library has not: asking for one raises, and says how to have it."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.inventory import not_offered
from tests.test_surface import exists

HOW = r"\. [A-Z].*\.$"  # a sentence of its own, after what Python says


def place(module: str) -> Any:
    """A module of the table, or a class; a tensor stands for its class."""
    if module == "Tensor":
        return mtd.zeros(1)
    home, _, name = module.rpartition(".")
    if is_class(module):
        return getattr(place(home), name)
    return importlib.import_module(f"minitorch_dist.{module}".rstrip("."))


def is_class(module: str) -> bool:
    home, _, name = module.rpartition(".")
    return bool(name) and isinstance(getattr(place(home), name, None), type)


@pytest.mark.parametrize("module", not_offered.gone())
def test_names_that_are_gone_raise_and_say_how_to_have_them(module: str) -> None:
    found = place(module)
    for name in not_offered.gone()[module]:
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'.*PyTorch has it"):
            getattr(found, name)
        if not is_class(module):
            with pytest.raises(ImportError, match=f"{name}'.*PyTorch has it"):
                exec(f"from minitorch_dist.{module} import {name}".replace(". ", " "))


def test_objects_tell_of_attributes_that_are_gone_and_may_have_them_of_their_own() -> None:
    layer = mtd.nn.Linear(1, 1)
    optimizer = mtd.optim.SGD(layer.parameters())
    for one, name in ((layer, "set_submodule"), (optimizer, "register_state_dict_pre_hook")):
        assert not hasattr(one, name)
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'.*PyTorch has it"):
            getattr(one, name)
    layer.set_submodule = layer.share_memory = mtd.nn.ReLU()
    assert layer.set_submodule is layer.share_memory is layer._modules["share_memory"]


def test_the_table_has_each_name_once_in_order() -> None:
    modules = list(not_offered.gone())
    assert modules == sorted(modules) and all(not_offered.gone().values())
    assert not {f"{m}.{n}" for m, names in not_offered.gone().items() for n in names} & set(not_offered.INSTEAD)


def test_a_name_that_never_was_is_an_error_as_any_other() -> None:
    for owner in (mtd, mtd.nn, mtd.distributed, mtd.random, mtd.backends, mtd.zeros(1)):
        with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
            owner.nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'minitorch_dist.nothing'$"):
        importlib.import_module("minitorch_dist.nothing")
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        from minitorch_dist.distributed import Nothing  # noqa: F401


def test_a_property_that_fails_is_not_taken_for_an_absent_name() -> None:
    class Own(mtd.Tensor):
        @property
        def broken(self) -> int:
            raise AttributeError("inside")

    with pytest.raises(AttributeError, match=r"^inside$"):
        Own().broken  # noqa: B018


def test_whole_modules_that_are_not_here_are_no_attributes_either() -> None:
    absent = [name for name in not_offered.INSTEAD if "." not in name and not hasattr(mtd, name)]
    assert {"jit", "fx", "onnx", "hub", "export", "ao", "_dynamo", "overrides"} <= {*absent}
    for name in absent:
        for error in (AttributeError, ModuleNotFoundError):
            with pytest.raises(error, match=HOW):
                getattr(mtd, name) if error is AttributeError else importlib.import_module(f"minitorch_dist.{name}")


def test_a_missing_module_is_an_import_error_as_any_other() -> None:
    with pytest.raises(
        ModuleNotFoundError, match=r"^No module named 'minitorch_dist.utils.benchmark'. Take Python's timeit"
    ):
        importlib.import_module("minitorch_dist.utils.benchmark")
    with pytest.raises(ModuleNotFoundError, match="Multiply the weight with a mask"):
        from minitorch_dist.nn.utils import prune  # noqa: F401


def test_sentences_name_what_is_here() -> None:
    for sentence in not_offered.INSTEAD.values():
        for name in re.findall(r"`([a-z_][A-Za-z_.]+)`", sentence):
            if name not in ("forward", "remove", "state_dict", "minitorch_dist"):
                assert exists(name), sentence
