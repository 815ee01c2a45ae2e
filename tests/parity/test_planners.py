"""Planners that torch programs derive from, in torch and here: what arrives is the same."""

from __future__ import annotations

import dataclasses
import importlib
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

LIBRARIES = ["torch", "minitorch_dist"]


class Kit:
    """The names of one library."""

    def __init__(self, library: str) -> None:
        self.t = importlib.import_module(library)
        importlib.import_module(f"{library}.nn")
        home = f"{library}.distributed.checkpoint"
        self.dcp = importlib.import_module(home)
        self.planner = importlib.import_module(f"{home}.planner")
        self.default = importlib.import_module(f"{home}.default_planner")
        self.storage = importlib.import_module(f"{home}.storage")
        self.metadata = importlib.import_module(f"{home}.metadata")

    def state(self, fill: float) -> dict[str, Any]:
        t = self.t
        return {
            "model": {"weight": t.full((3, 2), fill), "bias": t.arange(3) * fill},
            "step": int(fill), "about": {"name": f"run{fill}", "list": [1, (2, None)]},
        }  # fmt: skip

    def plain(self, state: Any) -> Any:
        if isinstance(state, dict):
            return {key: self.plain(value) for key, value in state.items()}
        return state.tolist() if isinstance(state, self.t.Tensor) else state


def renamed(kit: Kit, path: Path) -> Any:
    """Saved under other names, and loaded from them."""

    class SaveRenamed(kit.dcp.DefaultSavePlanner):  # type: ignore[misc, name-defined]
        def set_up_planner(self, state_dict: Any, *args: Any, **kwargs: Any) -> None:
            super().set_up_planner({f"foo_{k}": v for k, v in state_dict.items()}, *args, **kwargs)

    class LoadRenamed(kit.dcp.DefaultLoadPlanner):  # type: ignore[misc, name-defined]
        def set_up_planner(self, state_dict: Any, *args: Any, **kwargs: Any) -> None:
            self.outside = state_dict
            super().set_up_planner({f"foo_{k}": v for k, v in state_dict.items()}, *args, **kwargs)

        def load_bytes(self, read_item: Any, value: Any) -> None:
            key = read_item.dest_index.fqn.removeprefix("foo_")
            self.outside[key] = kit.t.load(value, weights_only=False)

    state = {"weight": kit.t.ones(3), "step": 4}
    kit.dcp.save(state, storage_writer=kit.dcp.FileSystemWriter(path), planner=SaveRenamed(), no_dist=True)  # fmt: skip
    found = {"weight": kit.t.zeros(3), "step": 0}
    kit.dcp.load(found, storage_reader=kit.dcp.FileSystemReader(path), planner=LoadRenamed(), no_dist=True)  # fmt: skip
    names = sorted(kit.dcp.FileSystemReader(path).read_metadata().state_dict_metadata)
    return kit.plain(found), names


def halved(kit: Kit, path: Path) -> Any:
    """Saved in half precision, loaded in full."""

    class SaveHalf(kit.dcp.DefaultSavePlanner):  # type: ignore[misc, name-defined]
        def create_local_plan(self) -> Any:
            plan = super().create_local_plan()
            for item in plan.items:
                if item.tensor_data is not None:
                    item.tensor_data.properties.dtype = kit.t.float16
            return plan

        def resolve_data(self, write_item: Any) -> Any:
            item = super().resolve_data(write_item)
            if write_item.type == kit.planner.WriteItemType.BYTE_IO:
                return item
            return item.to(kit.t.float16)

    kit.dcp.save({"x": kit.t.tensor([1.0, 1 / 3, 70000.0]), "y": kit.t.ones(2, 2)}, checkpoint_id=path,
                 planner=SaveHalf(), no_dist=True)  # fmt: skip
    about = kit.dcp.FileSystemReader(path).read_metadata().state_dict_metadata
    found = {"x": kit.t.zeros(3), "y": kit.t.zeros(2, 2)}
    kit.dcp.load(found, checkpoint_id=path, planner=kit.default.DefaultLoadPlanner(), no_dist=True)
    types = {name: str(one.properties.dtype) for name, one in about.items()}
    return kit.plain(found), types, [tuple(c.sizes) for c in about["y"].chunks]


def scaled(kit: Kit, path: Path) -> Any:
    """Values change on their way in; what is missing stays."""

    class Doubled(kit.dcp.DefaultLoadPlanner):  # type: ignore[misc, name-defined]
        def resolve_tensor(self, read_item: Any) -> Any:
            self.target = super().resolve_tensor(read_item)
            return kit.t.zeros_like(self.target)

        def commit_tensor(self, read_item: Any, tensor: Any) -> None:
            self.target.copy_(tensor * 2)

    kit.dcp.save(kit.state(3.0), checkpoint_id=path, no_dist=True)
    found = kit.state(0.0) | {"new": kit.t.ones(1), "later": "kept"}
    kit.dcp.load(found, checkpoint_id=path, planner=Doubled(allow_partial_load=True), no_dist=True)
    return kit.plain(found)


def nested(kit: Kit, path: Path) -> Any:
    """Not flattened: what is no tensor at the top is one value."""
    planner = kit.dcp.DefaultSavePlanner(flatten_state_dict=False)
    kit.dcp.save({"x": kit.t.ones(2), "about": {"lr": 0.5, "deep": {"n": [1]}}}, checkpoint_id=path,
                 planner=planner, no_dist=True)  # fmt: skip
    found = {"x": kit.t.zeros(2), "about": {"lr": 0.0}}
    reading = kit.dcp.DefaultLoadPlanner(flatten_state_dict=False)
    kit.dcp.load(found, checkpoint_id=path, planner=reading, no_dist=True)
    return kit.plain(reading.state_dict), sorted(
        kit.dcp.FileSystemReader(path).read_metadata().state_dict_metadata
    )


def elsewhere(kit: Kit, path: Path) -> Any:
    """A place of one's own: a dict."""
    key_values: dict[Any, Any] = {}
    calls: list[str] = []

    def future(value: Any) -> Any:
        done = kit.t.futures.Future()
        done.set_result(value)
        return done

    class Writer(kit.dcp.StorageWriter):  # type: ignore[misc, name-defined]
        @classmethod
        def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
            return True

        def reset(self, checkpoint_id: Any = None) -> None:
            calls.append("reset")

        def set_up_storage_writer(self, is_coordinator: bool, *_: Any, **__: Any) -> None:
            calls.append(f"set up {is_coordinator}")

        def prepare_local_plan(self, plan: Any) -> Any:
            calls.append("local")
            return plan

        def prepare_global_plan(self, plans: Any) -> Any:
            calls.append("global")
            return [dataclasses.replace(one, storage_data=n) for n, one in enumerate(plans)]

        def write_data(self, plan: Any, planner: Any) -> Any:
            calls.append(f"write for {plan.storage_data}")
            for item in plan.items:
                data = planner.resolve_data(item)
                key_values[item.index] = (
                    data.getvalue() if isinstance(data, io.BytesIO) else data.clone()
                )
            return future([kit.storage.WriteResult(item.index, 1, None) for item in plan.items])

        def finish(self, metadata: Any, results: Any) -> None:
            calls.append(f"finish {len(results)} {len(results[0])}")
            key_values["metadata"] = metadata

    class Reader(kit.dcp.StorageReader):  # type: ignore[misc, name-defined]
        @classmethod
        def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
            return True

        def reset(self, checkpoint_id: Any = None) -> None:
            calls.append("reset")

        def read_metadata(self, *_: Any, **__: Any) -> Any:
            calls.append("metadata")
            return key_values["metadata"]

        def set_up_storage_reader(
            self, metadata: Any, is_coordinator: bool, *_: Any, **__: Any
        ) -> None:
            calls.append(f"set up {is_coordinator}")

        def prepare_local_plan(self, plan: Any) -> Any:
            return plan

        def prepare_global_plan(self, plans: Any) -> Any:
            return plans

        def read_data(self, plan: Any, planner: Any) -> Any:
            for item in plan.items:
                if item.type == kit.planner.LoadItemType.BYTE_IO:
                    planner.load_bytes(item, io.BytesIO(key_values[item.storage_index]))
                else:
                    target = planner.resolve_tensor(item)
                    target.copy_(key_values[item.storage_index])
                    planner.commit_tensor(item, target)
            return future(None)

    kit.dcp.save(kit.state(2.0), storage_writer=Writer(), no_dist=True)
    found = kit.state(0.0)
    kit.dcp.load(found, storage_reader=Reader(), no_dist=True)
    sizes = {item.fqn: tuple(item.offset or ()) for item in key_values if item != "metadata"}
    return kit.plain(found), [c for c in calls if c != "reset"], sizes


def twice(kit: Kit, path: Path) -> Any:
    """A place that refuses to be written over, and what a planner says of a state that does not fit."""
    kit.dcp.save({"x": kit.t.ones(2)}, checkpoint_id=path, no_dist=True)
    said = []
    for attempt in (
        lambda: kit.dcp.save({"x": kit.t.ones(2)}, storage_writer=kit.dcp.FileSystemWriter(path, overwrite=False), no_dist=True),
        lambda: kit.dcp.load({"y": kit.t.ones(2)}, checkpoint_id=path, no_dist=True),
        lambda: kit.dcp.load({"x": kit.t.ones(3)}, checkpoint_id=path, no_dist=True, planner=kit.dcp.DefaultLoadPlanner()),
    ):  # fmt: skip
        try:
            attempt()
            said.append(None)
        except BaseException as error:  # torch's CheckpointException is one
            assert not isinstance(error, KeyboardInterrupt)
            said.append(True)
    return said


@pytest.mark.parametrize("program", [renamed, halved, scaled, nested, elsewhere, twice])
def test_a_program_with_planners(program: Any, tmp_path: Path) -> None:
    found = []
    for library in LIBRARIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(program(Kit(library), tmp_path / library))
    np.testing.assert_equal(found[1], found[0])


def test_what_a_state_contains() -> None:
    """Default plans of a plain state, item by item."""
    found = []
    for library in LIBRARIES:
        kit = Kit(library)
        plan = kit.default.create_default_local_save_plan(
            {"w": kit.t.ones(3, 2), "s": kit.t.tensor(1.0), "n": 3}, True
        )
        plans, metadata = kit.default.create_default_global_save_plan([plan])
        reads = kit.default.create_default_local_load_plan(
            {"w": kit.t.ones(3, 2), "n": 0}, metadata
        )
        found.append([
            [(i.index.fqn, i.type.name, i.tensor_storage_size()) for i in plans[0].items],
            [(i.dest_index.fqn, i.type.name, tuple(i.storage_offsets), tuple(i.lengths)) for i in reads.items],
        ])  # fmt: skip
    found[0][1] = [(name, kind, tuple(o), tuple(n)) for name, kind, o, n in found[0][1]]
    assert found[1] == found[0]
