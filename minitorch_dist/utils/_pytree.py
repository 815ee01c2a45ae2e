"""Nested containers as trees: their leaves in order, and the structure that puts leaves together again.

leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})       [1, 2, 3] and the spec
tree_unflatten(leaves, spec)                               {"a": 1, "b": (2, [3])}
tree_map(lambda x: x + 1, tree)                            the same structure with other leaves

A node is a list, tuple, namedtuple, dict or OrderedDict. All else is a leaf, also None and, as in torch, an object of a
subclass of list or dict. (`distributed.nested_tensors` looks into those, too.)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from minitorch_dist import not_offered


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a tree: a node's type, its keys if it is a dict, and its children's specs. A leaf has no type."""

    type: Any = None
    keys: tuple[Any, ...] | None = None
    children: tuple[TreeSpec, ...] = ()

    @property
    def num_leaves(self) -> int:
        return 1 if self.type is None else sum(child.num_leaves for child in self.children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"there are {len(given)} leaves for a structure that has {self.num_leaves}: {self}"
            )
        return self._built(iter(given))

    def _built(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        parts = [child._built(leaves) for child in self.children]
        if self.keys is not None:
            return self.type(zip(self.keys, parts, strict=True))
        return self.type(*parts) if hasattr(self.type, "_fields") else self.type(parts)


def _is_node(tree: Any) -> bool:
    kind = type(tree)
    is_named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return is_named or kind in (list, tuple, dict, OrderedDict)


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the structure. A node for which `is_leaf` says True is a leaf."""
    if (is_leaf is not None and is_leaf(tree)) or not _is_node(tree):
        return [tree], TreeSpec()
    keys = tuple(tree) if isinstance(tree, dict) else None
    found = [
        tree_flatten(child, is_leaf) for child in (tree.values() if keys is not None else tree)
    ]
    leaves = [leaf for part, _ in found for leaf in part]
    return leaves, TreeSpec(type(tree), keys, tuple(spec for _, spec in found))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The inverse of `tree_flatten`."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_map(
    func: Callable[..., Any],
    tree: Any,
    *rests: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """The tree with `func(leaf, …)` in the place of each leaf. The other trees have the structure of the first."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(rest, is_leaf) for rest in rests]
    for _, other in others:
        if other != spec:
            raise ValueError(f"the trees differ: the first is {spec}, another is {other}")
    return spec.unflatten(map(func, leaves, *(part for part, _ in others)))


not_offered.guard(globals())
