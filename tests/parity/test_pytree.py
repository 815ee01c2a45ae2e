"""`utils._pytree` takes containers apart and puts them together as torch does: leaves, structures, paths, errors."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity
import torch.utils._pytree as theirs

import minitorch_dist.utils._pytree as ours

Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "x y")


class Mine(list):  # type: ignore[type-arg]
    pass


class Pair:
    def __init__(self, left: Any, right: Any, name: str = "") -> None:
        self.left, self.right, self.name = left, right, name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and vars(self) == vars(other)


@dataclass
class Record:
    a: Any
    b: Any = 2


@dataclass
class Partly:
    a: Any
    b: Any = 2


class Unknown(SimpleNamespace):
    pass


for tree in (theirs, ours):
    tree.register_pytree_node(
        Pair, lambda p: ([p.left, p.right], p.name), lambda parts, name: Pair(*parts, name)
    )
    tree.register_dataclass(Record)


def verdict(p: Any, program: Callable[[Any], Any]) -> Any:
    try:
        return repr(program(p))
    except Exception as error:
        return type(error).__name__, str(error)


def agree(program: Callable[[Any], Any]) -> Any:
    expected = verdict(theirs, program)
    assert verdict(ours, program) == expected
    return expected


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    dicts = st.dictionaries(st.sampled_from(["a", "b", 3]), inner, max_size=3)
    return st.one_of(
        lists, lists.map(tuple), lists.map(lambda x: deque(x, 5)), lists.map(Mine), dicts,
        dicts.map(OrderedDict), dicts.map(lambda d: defaultdict(list, d)),
        st.builds(Point, inner, inner), st.builds(Record, inner, inner),
    )  # fmt: skip


TREES = st.recursive(
    st.none() | st.integers(0, 9) | st.sampled_from(["s", 1.5]), containers, max_leaves=8
)


@given(TREES)
@settings(max_examples=150, deadline=None)
def test_any_tree(tree: Any) -> None:
    agree(lambda p: p.tree_flatten(tree))
    agree(
        lambda p: [
            (s.num_nodes, s.num_leaves, s.num_children, s.is_leaf())
            for s in [p.tree_structure(tree)]
        ]
    )
    agree(lambda p: p.tree_map(lambda leaf: [leaf], tree))
    agree(lambda p: [(p.keystr(path), leaf) for path, leaf in p.tree_leaves_with_path(tree)])
    agree(lambda p: p.tree_map_with_path(lambda path, leaf: (p.keystr(path), leaf), tree))
    agree(lambda p: p.tree_leaves(tree, is_leaf=lambda node: isinstance(node, tuple)))
    leaves, spec = ours.tree_flatten(tree)
    assert repr(ours.tree_unflatten(leaves, spec)) == repr(tree)
    for path, leaf in ours.tree_leaves_with_path(tree):
        assert ours.key_get(tree, path) is leaf
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec == copy.deepcopy(spec) and hash(again) == hash(spec)


@given(TREES, TREES)
@settings(max_examples=150, deadline=None)
def test_any_two_trees(one: Any, two: Any) -> None:
    agree(lambda p: p.tree_structure(one) == p.tree_structure(two))
    alike = ours.tree_map(lambda leaf: two, one)
    agree(lambda p: p.tree_map(lambda a, b: (a, b), one, alike))
    refused = [
        verdict(p, lambda p: p.tree_map(lambda a, b: (a, b), one, two)) for p in (theirs, ours)
    ]
    assert isinstance(refused[0], tuple) == isinstance(refused[1], tuple)


CASES: dict[str, Callable[[Any], Any]] = {
    "a type that differs": lambda p: p.tree_map(max, [1], (1,)),
    "a length that differs": lambda p: p.tree_map(max, [1, 2], [1]),
    "keys that differ": lambda p: p.tree_map(max, {"a": 1}, {"b": 1}),
    "an order that differs": lambda p: p.tree_map(max, {"a": 1, "b": 5}, {"b": 3, "a": 2}),
    "dicts of two kinds": lambda p: p.tree_map(max, {"a": 1}, OrderedDict(a=2)),
    "namedtuples of two types": lambda p: p.tree_map(max, Point(1, 2), Other(1, 2)),
    "deques of two lengths": lambda p: p.tree_map(max, deque([1], 2), deque([3], 4)),
    "a node for a leaf": lambda p: p.tree_map(lambda a, b: [a, b], [1], [[2, 3]]),
    "a leaf for a node": lambda p: p.tree_map(lambda a, b: [a, b], [[2, 3]], [1]),
    "registered": lambda p: p.tree_flatten(Pair(1, [2], "n")),
    "registered, mapped": lambda p: vars(p.tree_map(str, Pair(1, [2], "n"))),
    "registered, other context": lambda p: p.tree_map(max, Pair(1, 2, "n"), Pair(1, 2, "m")),
    "registered, other type": lambda p: p.tree_map(max, Pair(1, 2), [1, 2]),
    "registered without keys": lambda p: p.tree_leaves_with_path(Pair(1, 2)),
    "registered twice": lambda p: p.register_pytree_node(Pair, list, list),
    "too few leaves": lambda p: p.tree_unflatten([1], p.tree_structure([1, (2, 3)])),
    "no spec": lambda p: p.tree_unflatten([1], [1]),
    "spec first": lambda p: p.tree_unflatten(p.tree_structure([1, 2]), [3, 4]),
    "only": lambda p: p.tree_map_only(int, lambda x: -x, [1, "a", (2.0, 3)]),
    "only of types": lambda p: p.tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.0]),
    "only of a union": lambda p: p.tree_map_only(int | str, lambda x: x * 2, [1, "a", 2.0]),
    "only by a function": lambda p: p.tree_map_only(callable, lambda x: 0, [len, 1]),
    "only of nothing": lambda p: p.tree_map_only(3, lambda x: 0, [1]),
    "all and any": lambda p: (p.tree_all(bool, [1, {"a": 0}]), p.tree_any(bool, [1, {"a": 0}])),
    "all and any of a type": lambda p: (
        p.tree_all_only(int, bool, ["", 1]), p.tree_any_only(int, bool, ["x", 0])
    ),
    "leaf": lambda p: [p.tree_is_leaf(x) for x in (1, None, [], Mine(), Point(1, 2), "ab")],
    "namedtuple": lambda p: [p.is_namedtuple(x) for x in (Point, Point(1, 2), (1,), tuple)],
    "in place": lambda p: p.tree_map_(lambda x: x.append(1), ({"a": []},), is_leaf=lambda x: x == []),
    "arguments": lambda p: p.arg_tree_leaves(1, [2], a={"b": 3}),
    "specs": lambda p: (p.treespec_leaf(), p.tree_structure([1]).child(0), p.tree_structure((1, [2])).children()),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_single_cases(case: str) -> None:
    agree(CASES[case])


def test_tensors_are_leaves() -> None:
    for t in (torch, mtd):
        doubled = t.utils._pytree.tree_map_only(t.Tensor, lambda x: x * 2, {"a": t.ones(2), "b": 1})
        assert doubled["a"].tolist() == [2.0, 2.0] and doubled["b"] == 1


def test_a_class_of_which_nobody_knows_the_fields_is_refused() -> None:
    for p in (theirs, ours):
        with pytest.raises(
            ValueError, match="field_names must be specified with a list of all fields"
        ):
            p.register_dataclass(Unknown)
