"""`utils._pytree` takes containers apart and puts them together as torch does."""

from __future__ import annotations

import pickle
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.parity.compare import torch

pytestmark = pytest.mark.parity
import torch.utils._pytree as theirs

import minitorch_dist.utils._pytree as ours

assert torch
Point = namedtuple("Point", "x y")


class Mine(list):  # type: ignore[type-arg]
    pass


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    dicts = st.dictionaries(st.sampled_from(["a", "b", 3]), inner, max_size=3)
    return st.one_of(
        lists, lists.map(tuple), lists.map(Mine), dicts, dicts.map(OrderedDict), st.builds(Point, inner, inner)
    )  # fmt: skip


TREES = st.recursive(
    st.none() | st.integers(0, 9) | st.sampled_from(["s", 1.5]), containers, max_leaves=8
)


@given(TREES)
@settings(max_examples=150, deadline=None)
def test_any_tree(tree: Any) -> None:
    leaves, spec = ours.tree_flatten(tree)
    same, whole = theirs.tree_flatten(tree)
    assert leaves == same == ours.tree_leaves(tree) and spec.num_leaves == whole.num_leaves
    assert repr(ours.tree_unflatten(leaves, spec)) == repr(tree)
    assert pickle.loads(pickle.dumps(spec)) == spec
    for is_leaf in (None, lambda node: isinstance(node, tuple)):
        found = [p.tree_map(lambda leaf: [leaf], tree, is_leaf=is_leaf) for p in (ours, theirs)]
        assert repr(found[0]) == repr(found[1])
    with pytest.raises(ValueError, match=f"there are {len(leaves) + 1} leaves"):
        ours.tree_unflatten([*leaves, 1], spec)


@given(TREES, TREES)
@settings(max_examples=150, deadline=None)
def test_any_two_trees(one: Any, two: Any) -> None:
    alike = ours.tree_map(lambda leaf: 7, one)
    found = [p.tree_map(lambda a, b: (a, b), one, alike) for p in (ours, theirs)]
    assert repr(found[0]) == repr(found[1])
    if ours.tree_flatten(one)[1] != ours.tree_flatten(two)[1]:
        with pytest.raises(ValueError, match="the trees differ"):
            ours.tree_map(max, one, two)
