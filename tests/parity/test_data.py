"""Datasets, samplers, collating and loaders beside torch's: structure, lengths, order, errors."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.utils import data as our_data
from tests.parity.compare import close, to_numpy, torch

pytestmark = pytest.mark.parity

import torch.utils.data as their_data

# Each side: `t` makes tensors, `d` is utils.data.
SIDES = [SimpleNamespace(t=torch, d=their_data), SimpleNamespace(t=mtd, d=our_data)]
for side in SIDES:

    class Squares(side.d.Dataset):  # type: ignore[name-defined, misc]
        def __init__(self, n: int, scale: int = 1) -> None:
            self.n, self.scale = n, scale

        def __getitem__(self, i: int) -> Any:
            return i * i * self.scale

        def __len__(self) -> int:
            return self.n

    class Stream(side.d.IterableDataset):  # type: ignore[name-defined, misc]
        def __init__(self, n: int, announced: int | None = None) -> None:
            self.n, self.announced = n, announced

        def __iter__(self) -> Iterator[int]:
            return iter(range(self.n))

        def __len__(self) -> int:
            if self.announced is None:
                raise TypeError("no length")
            return self.announced

    side.Squares, side.Stream = Squares, Stream


def alike(a: Any, b: Any) -> None:
    """Equal types all the way down; tensors by value."""
    if isinstance(a, torch.Tensor):
        close(a, b, 1e-6, 1e-6, "tensor")
        return
    assert type(a).__name__ == type(b).__name__, (a, b)
    if isinstance(a, dict) or hasattr(a, "keys"):
        assert list(a) == list(b)
        for key in a:
            alike(a[key], b[key])
    elif isinstance(a, (list, tuple, collections.UserList)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            alike(x, y)
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


def same(expression: Callable[[Any], Any], words: bool = True) -> None:
    results: list[Any] = []
    for side in SIDES:
        try:
            results.append(expression(side))
        except Exception as error:
            results.append(error)
    if isinstance(results[0], Exception):
        assert type(results[1]) is type(results[0]), results
        if words:
            assert re.split(r"[<'(\n:.]", str(results[0]))[0] in str(results[1])
    else:
        if isinstance(results[1], Exception):
            raise results[1]
        alike(*results)


class Point(NamedTuple):
    x: Any
    y: Any


class Row(collections.UserList[Any]):
    pass


def rows(s: Any, n: int = 3) -> list[Any]:
    return [s.t.from_numpy(np.arange(4.0).reshape(2, 2) + i) for i in range(n)]


BATCHES: dict[str, Callable[[Any], Any]] = {
    "tensors": rows,
    "0-dim": lambda s: [s.t.tensor(1), s.t.tensor(2)],
    "empty": lambda s: [s.t.zeros(0, 3), s.t.zeros(0, 3)],
    "ints": lambda s: [1, 2, 3],
    "bools": lambda s: [True, False],
    "floats": lambda s: [1.0, 2.5],
    "mixed": lambda s: [1, 2.5],
    "strings": lambda s: ["a", "b"],
    "bytes": lambda s: [b"a", b"b"],
    "arrays": lambda s: [np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)],
    "int arrays": lambda s: [np.arange(3), np.arange(3)],
    "0-dim arrays": lambda s: [np.array(1.5), np.array(2.5)],
    "float32 scalars": lambda s: [np.float32(1), np.float32(2)],
    "int scalars": lambda s: [np.int64(1), np.int64(2)],
    "bool scalars": lambda s: [np.bool_(True), np.bool_(False)],
    "tuples": lambda s: [(x, i) for i, x in enumerate(rows(s))],
    "lists": lambda s: [[x, "a"] for x in rows(s)],
    "dicts": lambda s: [{"x": x, "name": "n", "deep": {"y": (1, 2.0)}} for x in rows(s)],
    "ordered": lambda s: [collections.OrderedDict(b=1, a=x) for x in rows(s)],
    "proxy": lambda s: [MappingProxyType({"a": 1}) for _ in range(2)],
    "named": lambda s: [Point(x, {"k": 1}) for x in rows(s)],
    "user list": lambda s: [Row([1, 2.0]) for _ in range(3)],
    "range": lambda s: [range(3), range(3)],
    "None": lambda s: [None, None],
    "objects": lambda s: [object(), object()],
    "string arrays": lambda s: [np.array(["a"]), np.array(["b"])],
    "object arrays": lambda s: [np.array([None]), np.array([None])],
    "ragged": lambda s: [[1, 2], [1]],
    "ragged tensors": lambda s: [s.t.zeros(2), s.t.zeros(3)],
    "one": lambda s: [s.t.zeros(2)],
    "nothing": lambda s: [],
}


@pytest.mark.parametrize("name", list(BATCHES))
def test_default_collate(name: str) -> None:
    same(lambda s: s.d.default_collate(BATCHES[name](s)))


@pytest.mark.parametrize("name", list(BATCHES))
def test_default_convert(name: str) -> None:
    if name != "objects":
        same(lambda s: s.d.default_convert(BATCHES[name](s)))
        same(lambda s: [s.d.default_convert(sample) for sample in BATCHES[name](s)])


DATASETS: dict[str, Callable[[Any], Any]] = {
    "getitem": lambda s: s.d.Dataset()[0],
    "len": lambda s: len(s.d.Dataset()),
    "tensors": lambda s: s.d.TensorDataset(s.t.arange(6).reshape(3, 2), s.t.arange(3))[1],
    "tensors slice": lambda s: s.d.TensorDataset(s.t.arange(6).reshape(3, 2), s.t.arange(3))[1:],
    "tensors len": lambda s: len(s.d.TensorDataset(s.t.zeros(3, 2))),
    "tensors bad": lambda s: s.d.TensorDataset(s.t.zeros(3, 2), s.t.zeros(2)),
    "concat": lambda s: [(s.Squares(3) + s.Squares(2, 10))[i] for i in range(-5, 5)],
    "concat len": lambda s: len(s.Squares(3) + s.Squares(2)),
    "concat sizes": lambda s: s.d.ConcatDataset([s.Squares(3), s.Squares(2)]).cumulative_sizes,
    "concat low": lambda s: (s.Squares(3) + s.Squares(2))[-6],
    "concat high": lambda s: (s.Squares(3) + s.Squares(2))[5],
    "concat none": lambda s: s.d.ConcatDataset([]),
    "concat stream": lambda s: s.d.ConcatDataset([s.Stream(3)]),
    "subset": lambda s: [s.d.Subset(s.Squares(9), [8, 1, 3])[i] for i in range(3)],
    "subset list": lambda s: s.d.Subset(s.d.TensorDataset(s.t.arange(5) * 2), [4, 2, 0])[[0, 2]],
    "subset many": lambda s: [*s.d.DataLoader(s.d.Subset(s.d.Subset(s.Squares(9), [8, 1, 3]), [2, 0]), 2)],
    "subset len": lambda s: len(s.d.Subset(s.Squares(9), [1, 2])),
    "split": lambda s: sorted(x for part in s.d.random_split(s.Squares(10), [3, 7]) for x in part.indices),
    "split sizes": lambda s: [len(p) for p in s.d.random_split(s.Squares(10), [3, 0, 7])],
    "split fractions": lambda s: [len(p) for p in s.d.random_split(s.Squares(11), [0.3, 0.3, 0.4])],
    "split thirds": lambda s: [len(p) for p in s.d.random_split(s.Squares(10), [1 / 3] * 3)],
    "split wrong": lambda s: s.d.random_split(s.Squares(10), [3, 3]),
    "split fraction": lambda s: s.d.random_split(s.Squares(10), [1.5, -0.5]),
}


@pytest.mark.parametrize("name", list(DATASETS))
def test_datasets(name: str) -> None:
    same(DATASETS[name], words=name != "concat high")


SAMPLERS: dict[str, Callable[[Any], Any]] = {
    "sequential": lambda s: list(s.d.SequentialSampler(range(5))),
    "sequential len": lambda s: len(s.d.SequentialSampler(range(5))),
    "random": lambda s: sorted(s.d.RandomSampler(range(50))),
    "random more": lambda s: (
        sorted(s.d.RandomSampler(range(5), num_samples=12))[-2:]
        and len(list(s.d.RandomSampler(range(5), num_samples=12)))
    ),
    "random fewer": lambda s: len(set(s.d.RandomSampler(range(50), num_samples=12))),
    "random again": lambda s: len(list(s.d.RandomSampler(range(5), replacement=True, num_samples=99))),
    "random one": lambda s: list(s.d.RandomSampler(range(1), replacement=True, num_samples=40)),
    "random len": lambda s: len(s.d.RandomSampler(range(5), num_samples=7)),
    "random none": lambda s: s.d.RandomSampler([]),
    "random bad": lambda s: s.d.RandomSampler(range(3), num_samples=0),
    "batch": lambda s: list(s.d.BatchSampler(range(7), 3, False)),
    "batch drop": lambda s: list(s.d.BatchSampler(range(7), 3, True)),
    "batch len": lambda s: [len(s.d.BatchSampler(range(n), 3, drop)) for n in (6, 7) for drop in (True, False)],
    "batch bad": lambda s: s.d.BatchSampler(range(7), 0, False),
    "batch bool": lambda s: s.d.BatchSampler(range(7), True, False),
    "batch no len": lambda s: len(s.d.BatchSampler(iter(range(7)), 2, False)),
    "base": lambda s: iter(s.d.Sampler()),
}


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_samplers(name: str) -> None:
    same(SAMPLERS[name])


@pytest.mark.parametrize("n", [0, 1, 3, 5, 8, 20])
@pytest.mark.parametrize("replicas", [1, 2, 3, 7])
@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_sampler(n: int, replicas: int, drop_last: bool) -> None:
    def parts(s: Any) -> Any:
        samplers = [
            s.d.DistributedSampler(range(n), replicas, rank, shuffle=False, drop_last=drop_last)
            for rank in range(replicas)
        ]
        return [(list(x), len(x), x.num_samples, x.total_size) for x in samplers]

    same(parts)
    whole = [
        i
        for rank in range(replicas)
        for i in our_data.DistributedSampler(range(n), replicas, rank, drop_last=drop_last)
    ]
    share = n // replicas if drop_last else -(-n // replicas)
    assert len(whole) == share * replicas
    assert set(whole) == set(range(n)) or drop_last


def test_distributed_sampler_refuses() -> None:
    same(lambda s: s.d.DistributedSampler(range(3), 2, 2))
    same(lambda s: s.d.DistributedSampler(range(3), 2, -1))
    same(lambda s: s.d.DistributedSampler(range(3)))
    same(lambda s: s.d.DistributedSampler(range(3), num_replicas=2))


# ---------------------------------------------------------------------------------------- loaders

LOADERS: dict[str, Callable[[Any], Any]] = {
    "one by one": lambda s: s.d.DataLoader(s.Squares(3)),
    "batches": lambda s: s.d.DataLoader(s.Squares(7), 3),
    "drop": lambda s: s.d.DataLoader(s.Squares(7), 3, drop_last=True),
    "unbatched": lambda s: s.d.DataLoader(s.Squares(3), batch_size=None),
    "unbatched tensors": lambda s: s.d.DataLoader([np.ones(2), {"a": (np.zeros(1), "x")}], batch_size=None),
    "whole batches": lambda s: s.d.DataLoader(
        s.d.TensorDataset(s.t.arange(10)), batch_size=None, sampler=s.d.BatchSampler(range(10), 4, False)
    ),
    "sampler": lambda s: s.d.DataLoader(s.Squares(9), 2, sampler=[8, 1, 3]),
    "batch sampler": lambda s: s.d.DataLoader(s.Squares(9), batch_sampler=[[8, 1], [3]]),
    "collate": lambda s: s.d.DataLoader(s.Squares(5), 2, collate_fn=lambda x: ("mine", x)),
    "subset": lambda s: s.d.DataLoader(s.d.Subset(s.Squares(9), [3, 5, 7]), 2),
    "tuples": lambda s: s.d.DataLoader(s.d.TensorDataset(s.t.arange(8.0).reshape(4, 2), s.t.arange(4)), 3),
    "list": lambda s: s.d.DataLoader([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], 2),
    "stream": lambda s: s.d.DataLoader(s.Stream(7), 3),
    "stream drop": lambda s: s.d.DataLoader(s.Stream(7), 3, drop_last=True),
    "stream unbatched": lambda s: s.d.DataLoader(s.Stream(3), batch_size=None),
    "empty": lambda s: s.d.DataLoader(s.Squares(0), 3),
    "pinned": lambda s: s.d.DataLoader(s.Squares(3), pin_memory=False, timeout=0),
}


@pytest.mark.parametrize("name", list(LOADERS))
def test_loaders(name: str) -> None:
    make = LOADERS[name]
    same(lambda s: list(make(s)))
    if "stream" not in name:
        same(lambda s: (len(make(s)), len(make(s).dataset), len(iter(make(s)))))
    same(lambda s: (make(s).batch_size, make(s).drop_last, make(s).num_workers,
                    make(s).prefetch_factor, type(make(s).sampler).__name__.lstrip("_"))
         if "stream" not in name else None)  # fmt: skip


@pytest.mark.parametrize("batch_size", [None, 1, 4])
@pytest.mark.parametrize("drop_last", [False, True])
def test_the_length_of_a_stream(batch_size: int | None, drop_last: bool) -> None:
    if batch_size is None and drop_last:
        return
    same(lambda s: len(s.d.DataLoader(s.Stream(9, 9), batch_size, drop_last=drop_last)))
    same(lambda s: len(s.d.DataLoader(s.Stream(9), batch_size, drop_last=drop_last)))


def test_shuffling_is_a_permutation_and_follows_the_generator() -> None:
    def twice(s: Any) -> Any:
        loader = s.d.DataLoader(s.Squares(40), 7, shuffle=True)
        a, b = (to_numpy_list(loader) for _ in range(2))
        seeded = [
            to_numpy_list(s.d.DataLoader(s.Squares(40), 7, shuffle=True, generator=s.t.Generator().manual_seed(3)))
            for _ in range(2)
        ]
        s.t.manual_seed(5)
        c = to_numpy_list(loader)
        s.t.manual_seed(5)
        d = to_numpy_list(loader)
        return sorted(a), a == b, a == sorted(a), seeded[0] == seeded[1], c == d

    same(twice)


def to_numpy_list(loader: Any) -> list[int]:
    return [int(x) for batch in loader for x in to_numpy(batch)]


BAD: list[Callable[[Any], Any]] = [
    lambda s: s.d.DataLoader(s.Squares(3), num_workers=-1),
    lambda s: s.d.DataLoader(s.Squares(3), timeout=-1),
    lambda s: s.d.DataLoader(s.Squares(3), sampler=[1], shuffle=True),
    lambda s: s.d.DataLoader(s.Squares(3), batch_sampler=[[1]], batch_size=2),
    lambda s: s.d.DataLoader(s.Squares(3), batch_sampler=[[1]], shuffle=True),
    lambda s: s.d.DataLoader(s.Squares(3), batch_sampler=[[1]], sampler=[1]),
    lambda s: s.d.DataLoader(s.Squares(3), batch_sampler=[[1]], drop_last=True),
    lambda s: s.d.DataLoader(s.Squares(3), batch_size=None, drop_last=True),
    lambda s: s.d.DataLoader(s.Squares(3), batch_size=0),
    lambda s: s.d.DataLoader(s.Squares(3), batch_size="a"),
    lambda s: s.d.DataLoader(s.Squares(0), shuffle=True),
    lambda s: s.d.DataLoader(s.Stream(3), shuffle=True),
    lambda s: s.d.DataLoader(s.Stream(3), sampler=[1]),
    lambda s: s.d.DataLoader(s.Stream(3), batch_sampler=[[1]]),
    lambda s: list(s.d.DataLoader([None, None], 2)),
    lambda s: list(s.d.DataLoader(s.Squares(3), sampler=[1, 2]).dataset[None]),
    lambda s: list(s.d.DataLoader(s.d.Dataset(), sampler=[1])),
    lambda s: len(s.d.DataLoader(s.d.Dataset())),
    lambda s: __import__("pickle").dumps(iter(s.d.DataLoader([1]))),
]


@pytest.mark.parametrize("expression", BAD)
def test_refused(expression: Callable[[Any], Any]) -> None:
    same(expression)


def test_a_subset_with_items_of_its_own_is_not_bypassed() -> None:
    """torch's has to define `__getitems__` too, or it is refused."""

    def batches(s: Any) -> Any:
        class Scaled(s.d.Subset):  # type: ignore[name-defined, misc]
            def __getitem__(self, i: int) -> Any:
                return 2 * super().__getitem__(i)

            def __getitems__(self, indices: list[int]) -> Any:
                return [self[i] for i in indices]

        return [batch.tolist() for batch in s.d.DataLoader(Scaled(s.Squares(5), [1, 4, 2]), 2)]

    same(batches)
    (ours,) = (s for s in SIDES if s.d.__name__.startswith("minitorch_dist"))

    class Doubled(ours.d.Subset):  # type: ignore[name-defined, misc]
        def __getitem__(self, i: int) -> Any:
            return 2 * super().__getitem__(i)

    assert [batch.tolist() for batch in ours.d.DataLoader(Doubled(ours.Squares(5), [1, 4, 2]), 2)] == batches(ours)


@pytest.mark.parametrize("given", [{"prefetch_factor": 2}, {"persistent_workers": True}])
def test_what_needs_workers(given: Any) -> None:
    for s in SIDES:
        with pytest.raises(ValueError, match="num_workers > 0"):
            s.d.DataLoader(s.Squares(3), **given)
