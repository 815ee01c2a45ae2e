"""Objects as JSON and back. A value that JSON has no word for is a list that begins with a tag:

    {"step": 3, "lr": (0.1, inf)}   ─►   ["dict", [["step", 3],
                                                   ["lr", ["tuple", [0.1, ["float", "inf"]]]]]]

Tensors and arrays are numbered and stand elsewhere (`["leaf", 0]`); one that occurs twice is one
object again after loading. Only values are known: nothing in a file names code.
"""

from __future__ import annotations

import base64
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from minitorch_dist.serialization import alike, instead
from minitorch_dist.serialization.container import NAMES, SerializationError
from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.size import Size

DEEPEST: Final = 100  # levels of containers in containers

KINDS: Final = (
    "tensors, numpy arrays and numbers, None, bool, int, float, complex, str, bytes, dtype, Size, "
    "device, slice, and dict, OrderedDict, defaultdict, Counter, list, tuple, set, frozenset of these"
)
_KNOWN: Final[tuple[type, ...]] = (int, float, str, list, dict, set, tuple)
_FACTORIES: Final[dict[str, Any]] = {"None": None} | {kind.__name__: kind for kind in _KNOWN}
_SEQUENCES: Final[dict[str, Any]] = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}
_SEQUENCE_TAGS: Final = {kind: tag for tag, kind in _SEQUENCES.items()}

Path = tuple[Any, ...]


class Encoder:
    """Turns an object into JSON, and collects its tensors and arrays, each with its path."""

    def __init__(self) -> None:
        self.leaves: list[tuple[Any, Path]] = []
        self._numbers: dict[int, int] = {}
        self._around: set[int] = set()  # the containers we are in

    def encode(self, thing: Any, path: Path = ()) -> Any:
        kind = type(thing)
        if thing is None or kind is bool or kind is str:
            return thing
        if kind is int:
            return thing if -(2**63) <= thing < 2**63 else ["int", hex(thing)]
        if kind is float:
            return thing if thing - thing == 0 else ["float", repr(thing)]
        if isinstance(thing, (TensorBase, np.ndarray)):
            if getattr(thing, "is_part", False):
                raise TypeError(
                    f"{spell(path)} is a DTensor, of which this rank has a part. Save its full_tensor(), or all ranks' parts "
                    "with distributed.checkpoint.save; get_model_state_dict(…, full_state_dict=True) has whole tensors."
                )
            return ["leaf", self._number(thing, path)]
        if isinstance(thing, np.generic):
            _check_dtype(np.asarray(thing), path)
            return ["number", str(thing.dtype), thing.tobytes().hex()]
        plain = self._plain(thing)
        if plain is not None:
            return plain
        if kind in _SEQUENCE_TAGS or kind in (dict, OrderedDict, defaultdict, Counter):
            if id(thing) in self._around:
                raise TypeError(f"{spell(path)} contains itself, and a file cannot")
            if len(path) >= DEEPEST:
                raise TypeError(f"{spell(path)} lies more than {DEEPEST} levels deep")
            self._around.add(id(thing))
            try:
                return self._container(thing, path)
            finally:
                self._around.discard(id(thing))
        raise TypeError(f"{spell(path)} is {_describe(thing)}. {_hint(thing, spell(path))}")

    def _number(self, thing: Any, path: Path) -> int:
        number = self._numbers.get(id(thing))
        if number is None:
            _check_dtype(thing.array if isinstance(thing, TensorBase) else thing, path)
            number = self._numbers[id(thing)] = len(self.leaves)
            self.leaves.append((thing, path))
        return number

    def _plain(self, thing: Any) -> list[Any] | None:
        match thing:
            case bytes() if type(thing) is bytes:
                return ["bytes", base64.b64encode(thing).decode()]
            case complex() if type(thing) is complex:
                return ["complex", repr(thing.real), repr(thing.imag)]
            case dtypes.dtype():
                return ["dtype", thing.name]
            case Size():
                return ["size", list(thing)]
            case devices.device():
                return ["device", str(thing)]
            case slice() if _are_indices(thing):
                return ["slice", thing.start, thing.stop, thing.step]
        return None

    def _container(self, thing: Any, path: Path) -> list[Any]:
        tag = _SEQUENCE_TAGS.get(type(thing))
        if tag is not None:
            return [tag, [self.encode(item, (*path, i)) for i, item in enumerate(thing)]]
        pairs = [[self.encode(k, (*path, _KEY)), self.encode(v, (*path, k))] for k, v in thing.items()]
        if type(thing) is OrderedDict:
            # a module's state_dict carries the versions of its layers in an attribute
            about = getattr(thing, "_metadata", None)
            return ["odict", pairs] + ([self.encode(about, (*path, "_metadata"))] if about else [])
        if type(thing) is defaultdict:
            for name, factory in _FACTORIES.items():
                if thing.default_factory is factory:
                    return ["defaultdict", pairs, name]
            raise TypeError(
                f"{spell(path)} is a defaultdict of {thing.default_factory!r}; only the factories "
                f"{', '.join(_FACTORIES)} can be saved. Save dict(...) of it instead."
            )
        return ["counter" if type(thing) is Counter else "dict", pairs]


def decode(tree: Any, leaves: Sequence[Any]) -> Any:
    """The object that `tree` describes, with `leaves` for its tensors and arrays."""
    try:
        return _decode(tree, leaves, 0)
    except (TypeError, ValueError, LookupError, OverflowError, RuntimeError, StopIteration) as error:
        raise SerializationError(f"The file cannot be loaded: its structure is damaged ({error!r}).") from None


def _decode(tree: Any, leaves: Sequence[Any], depth: int) -> Any:
    if not isinstance(tree, (list, dict)):
        return tree
    if depth > 2 * DEEPEST:
        raise ValueError("too many levels")
    tag, content, *more = tree

    def inside(part: Any) -> Any:
        return _decode(part, leaves, depth + 1)

    if tag in _SEQUENCES:
        items = [inside(item) for item in content]
        if tag in ("set", "frozenset"):
            alike.check(items)
        return _SEQUENCES[tag](items)
    if tag in ("dict", "odict", "defaultdict", "counter"):
        pairs = [(inside(k), inside(v)) for k, v in content]
        alike.check([key for key, _ in pairs])
        if tag == "odict":
            ordered: OrderedDict[Any, Any] = OrderedDict(pairs)
            if more:
                ordered._metadata = inside(more[0])  # type: ignore[attr-defined]
            return ordered
        if tag == "defaultdict":
            return defaultdict(_FACTORIES[more[0]], pairs)
        return Counter(dict(pairs)) if tag == "counter" else dict(pairs)
    return _VALUES[tag](leaves, content, *more)


def _leaf(leaves: Sequence[Any], number: int) -> Any:
    if not isinstance(number, int) or not 0 <= number < len(leaves):
        raise ValueError(f"there is no leaf {number!r}")
    return leaves[number]


def _number(leaves: Sequence[Any], dtype: str, digits: str) -> Any:
    kind = next(d for d in NAMES if str(d) == dtype)
    return np.frombuffer(bytes.fromhex(digits), kind, 1)[0]


_VALUES: Final[dict[str, Callable[..., Any]]] = {
    "leaf": _leaf,
    "number": _number,
    "int": lambda _, digits: int(digits, 16),
    "float": lambda _, text: float(text),
    "complex": lambda _, real, imag: complex(float(real), float(imag)),
    "bytes": lambda _, text: base64.b64decode(text, validate=True),
    "dtype": lambda _, name: dtypes.by_name(name),
    "size": lambda _, sizes: Size(sizes),
    "device": lambda _, name: devices.device(str(name)),
    "slice": lambda _, *ends: slice(*ends),
}


# --------------------------------------------------------------------------------- what went wrong


_KEY: Final = object()  # stands in a path for a key of a dict, as opposed to the value under that key


def spell(path: Path) -> str:
    """A path as Python: `obj["model"][0]`."""
    text = "obj"
    for step in path:
        if step is _KEY:
            return f"a key of {text}"
        text += f'["{step}"]' if isinstance(step, str) else f"[{step!r}]"
    return text


def _check_dtype(array: np.ndarray[Any, Any], path: Path) -> None:
    if array.dtype not in NAMES:
        known = ", ".join(map(str, NAMES))
        raise TypeError(f"{spell(path)} has the element type {array.dtype}, which safetensors does not know: {known}")


def _are_indices(thing: slice) -> bool:
    return all(end is None or type(end) is int for end in (thing.start, thing.stop, thing.step))


def _describe(thing: Any) -> str:
    if callable(thing) and hasattr(thing, "__qualname__"):
        kind = "class" if isinstance(thing, type) else "function"
        return f"a {kind} ({thing.__qualname__})"
    return f"a {type(thing).__module__}.{type(thing).__qualname__}".replace("builtins.", "")


def _hint(thing: Any, spelled: str) -> str:
    return f"A file holds values and no code. {instead.advice(thing, spelled)} Possible are: {KINDS}."
