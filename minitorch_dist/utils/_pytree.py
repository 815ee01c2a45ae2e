"""Nested containers as trees: their leaves in order, and the structure that puts leaves together again.

leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})       [1, 2, 3] and the spec
tree_unflatten(leaves, spec)                               {"a": 1, "b": (2, [3])}
tree_map(lambda x: x + 1, tree)                            the same structure with other leaves

A node is a list, tuple, namedtuple, dict, OrderedDict, defaultdict or deque, or of a type that is registered. All else is a
leaf, also None and, as in torch, an object of a subclass of list or dict. (`distributed.nested_tensors` looks into those, too.)
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from types import UnionType
from typing import Any, NamedTuple

PyTree = Any
Context = Any
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
FlattenWithKeysFn = Callable[[PyTree], tuple[list[tuple[Any, Any]], Context]]
IsLeaf = Callable[[PyTree], bool] | None
Wanted = type | tuple[type, ...] | UnionType | Callable[[Any], bool]


# ----------------------------------------------------------------------------------------------- keys


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """A place in a list, tuple or deque."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclass(frozen=True, slots=True)
class MappingKey:
    """A key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """A field of a namedtuple or a dataclass."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey | Any
KeyPath = tuple[KeyEntry, ...]


def keystr(kp: KeyPath) -> str:
    """The path as it stands in a program, such as `['a'][0]`."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Returns the value at the path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ------------------------------------------------------------------------------------- kinds of nodes


class NodeDef(NamedTuple):
    """How nodes of one type are taken apart and put together."""

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: FlattenWithKeysFn | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Make objects of exactly this type nodes.

    `flatten_fn` gives the children and a context, from which `unflatten_fn` makes the object. A spec
    is not written to files here, so `serialized_type_name` is accepted and not used.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None
) -> None:
    """Make dataclasses of this type nodes whose children are the fields that `__init__` takes.

    A field that is None is part of the structure and no leaf. Dropped fields have defaults, and are lost.
    """
    if is_dataclass(cls):
        taken = [f.name for f in fields(cls) if f.init]
        if field_names is None:
            field_names = taken
        elif set(taken) - set(drop_field_names or ()) != set(field_names):
            raise ValueError(
                f"field_names does not include all dataclass fields.\n{cls} has {', '.join(taken)}. Name each in "
                "field_names or in drop_field_names."
            )
    elif field_names is None:
        raise ValueError(
            "field_names must be specified with a list of all fields used to initialize "
            f"{cls}, as it is not a dataclass."
        )
    names = list(field_names)

    def named(node: Any) -> tuple[list[tuple[Any, Any]], Context]:
        filled = [name for name in names if getattr(node, name) is not None]
        empty = [name for name in names if name not in filled]
        return [(GetAttrKey(name), getattr(node, name)) for name in filled], [filled, empty]

    def flatten(node: Any) -> tuple[list[Any], Context]:
        children, context = named(node)
        return [child for _, child in children], context

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        filled, empty = context
        return cls(**dict(zip(filled, values, strict=True)), **dict.fromkeys(empty))

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=named)


def _register(
    kind: Any,
    context_of: Callable[[Any], Context],
    unflatten: UnflattenFn,
    keys_of: Callable[[Any], Iterable[KeyEntry]],
) -> None:
    """A container of the language: its children are its values."""

    def flatten(node: Any) -> tuple[list[Any], Context]:
        return list(node.values() if isinstance(node, dict) else node), context_of(node)

    def flatten_with_keys(node: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        children, context = flatten(node)
        return list(zip(keys_of(node), children, strict=True)), context

    SUPPORTED_NODES[kind] = NodeDef(kind, flatten, unflatten, flatten_with_keys)


def _places(node: Any) -> Iterator[KeyEntry]:
    return (SequenceKey(number) for number in range(len(node)))


def _dict_keys(node: Any) -> Iterator[KeyEntry]:
    return (MappingKey(key) for key in node)


def _filled_defaultdict(values: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


_register(tuple, lambda node: None, lambda values, _: tuple(values), _places)
_register(list, lambda node: None, lambda values, _: list(values), _places)
_register(deque, lambda node: node.maxlen, lambda values, longest: deque(values, longest), _places)
_register(dict, list, lambda values, keys: dict(zip(keys, values, strict=True)), _dict_keys)
_register(
    OrderedDict, list, lambda values, keys: OrderedDict(zip(keys, values, strict=True)), _dict_keys
)
_register(
    defaultdict, lambda node: [node.default_factory, list(node)], _filled_defaultdict, _dict_keys
)
_register(
    namedtuple,  # stands for all of them; the context is the type
    type,
    lambda values, kind: kind(*values),
    lambda node: (GetAttrKey(name) for name in node._fields),
)
DICTS = (dict, OrderedDict, defaultdict)
BUILTIN = tuple(SUPPORTED_NODES)


def is_namedtuple_class(cls: Any) -> bool:
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and hasattr(cls, "_make")
        and hasattr(cls, "_asdict")
    )


def is_namedtuple_instance(obj: Any) -> bool:
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _kind_of(tree: PyTree) -> Any:
    kind = type(tree)
    if kind not in SUPPORTED_NODES and is_namedtuple_class(kind):
        return namedtuple
    return kind


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    if is_leaf is not None and is_leaf(tree):
        return True
    return _kind_of(tree) not in SUPPORTED_NODES


# ------------------------------------------------------------------------------------------ structure


@dataclass(frozen=True, repr=False)
class TreeSpec:
    """The structure of a tree: a node's type, what else it takes to make it, and its children's specs."""

    type: Any
    context: Context
    _children: list[TreeSpec]
    num_nodes: int = field(init=False, compare=False)
    num_leaves: int = field(init=False, compare=False)
    num_children: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        is_leaf = self.type is None
        leaves = 1 if is_leaf else sum(child.num_leaves for child in self._children)
        object.__setattr__(self, "num_nodes", 1 + sum(c.num_nodes for c in self._children))
        object.__setattr__(self, "num_leaves", leaves)
        object.__setattr__(self, "num_children", len(self._children))

    def __hash__(self) -> int:
        return hash((self.type, tuple(self._children)))  # a context may have no hash

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.is_leaf():
            return "*"
        inner = indent + 2
        between = ",\n" + " " * inner
        children = between.join(child._text(inner) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this structure with these leaves."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a "
                f"pytree that holds {self.num_leaves} items ({self})."
            )
        return self._built(iter(given))

    def _built(self, leaves: Iterator[Any]) -> PyTree:
        if self.is_leaf():
            return next(leaves)
        children = [child._built(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of `tree` that stand at the leaves of this structure. They may be trees."""
        if self.is_leaf():
            return [tree]
        pairs = zip(self._children, self._children_in(tree), strict=True)
        return [found for spec, child in pairs for found in spec.flatten_up_to(child)]

    def _children_in(self, tree: PyTree) -> list[PyTree]:
        """The children of a node like this one, in the order of this one."""
        kind = _kind_of(tree)
        are_dicts = self.type in DICTS and kind in DICTS
        if kind is not self.type and not are_dicts:
            what = "Node type" if self.type in BUILTIN else "Type"
            raise ValueError(f"{what} mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        if are_dicts:
            return self._values_of(tree)
        if context != self.context and kind is not deque:  # the longest length may differ
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; expected {self.context!r}, but got {context!r}."
                if self.type in BUILTIN
                else f"Node context mismatch for custom node type {self.type!r}."
            )
        return children

    def _values_of(self, tree: dict[Any, Any]) -> list[PyTree]:
        keys = self.context[1] if self.type is defaultdict else self.context
        missing, extra = set(keys) - set(tree), set(tree) - set(keys)
        if missing or extra:
            told = [f"; missing key(s): {missing}"] * bool(missing)
            told += [f"; extra key(s): {extra}"] * bool(extra)
            raise ValueError(f"Node keys mismatch{''.join(told)}.")
        return [tree[key] for key in keys]


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


PyTreeSpec = TreeSpec
_LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    return _LEAF


# ------------------------------------------------------------------------------------------ functions


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the structure. A node for which `is_leaf` says True is a leaf."""
    leaves: list[Any] = []
    return leaves, _taken_apart(tree, is_leaf, leaves)


def _taken_apart(node: PyTree, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    if tree_is_leaf(node, is_leaf):
        leaves.append(node)
        return _LEAF
    kind = _kind_of(node)
    children, context = SUPPORTED_NODES[kind].flatten_fn(node)
    return TreeSpec(kind, context, [_taken_apart(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable[Any] | TreeSpec, treespec: TreeSpec | Iterable[Any]) -> PyTree:
    """The inverse of `tree_flatten`. The two arguments may also come in the other order."""
    if isinstance(leaves, TreeSpec):
        leaves, treespec = treespec, leaves
    if isinstance(treespec, TreeSpec) and not isinstance(leaves, TreeSpec):
        return treespec.unflatten(leaves)
    raise TypeError(
        f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
    )


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[_kind_of(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """The tree with `func(leaf, …)` in the place of each leaf. The other trees have the structure of the first."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call `func` on each leaf, which it changes, and return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _is_wanted(wanted: Wanted) -> Callable[[Any], bool]:
    """The leaves of some types, or those of which a function says so."""
    if isinstance(wanted, type | tuple | UnionType):
        return lambda leaf: isinstance(leaf, wanted)
    if callable(wanted):
        return wanted
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(
    type_or_types_or_pred: Wanted, /
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function is called for these leaves, and all others stay."""
    is_wanted = _is_wanted(type_or_types_or_pred)

    def decorated(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @wraps(func)
        def only(leaf: Any) -> Any:
            return func(leaf) if is_wanted(leaf) else leaf

        return only

    return decorated


def tree_map_only(
    type_or_types_or_pred: Wanted,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Wanted,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Wanted, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    return all(map(pred, filter(_is_wanted(type_or_types), tree_iter(tree, is_leaf))))


def tree_any_only(
    type_or_types: Wanted, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    return any(map(pred, filter(_is_wanted(type_or_types), tree_iter(tree, is_leaf))))


# ---------------------------------------------------------------------------------------------- paths


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    return list(_with_paths((), tree, is_leaf))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map` whose function gets the path of the leaf first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in found], [leaf for _, leaf in found]
    others = (spec.flatten_up_to(rest) for rest in rests)
    return spec.unflatten(map(func, paths, leaves, *others))


def _with_paths(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _kind_of(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)
