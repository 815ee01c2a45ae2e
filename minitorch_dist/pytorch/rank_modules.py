"""The modules of simulated ranks. Processes would have modules of their own; threads share `sys.modules`.

the user's own modules     each rank imports them for itself, and sees those alone
`__main__`                 is each rank's own script, so that pickles find its classes
installed packages         are shared. A few attributes that hold a rank's state (`KEPT`) are each rank's own

All this is exchanged when the clock hands over from one rank to another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import _bootstrap
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from operator import attrgetter
from types import ModuleType
from typing import Any, Final

from minitorch_dist.distributed import world
from minitorch_dist.launching.callers import is_users
from minitorch_dist.launching.wall_clock import is_simulated
from minitorch_dist.pytorch.rank_reads import WatchedLoader

_LOCKS: Final[dict[str, Any]] = _bootstrap._module_locks  # type: ignore[attr-defined]


def _rank() -> int:
    return int(world.place().given.get("rank", 0))


def _handlers() -> dict[Any, Any]:
    """Of DTensor's operations. Within `loss_parallel` a rank has more."""
    tensor, loss = (sys.modules[f"torch.distributed.tensor{end}"] for end in ("", ".parallel.loss"))
    found = tensor.DTensor._op_dispatcher._custom_op_handlers
    return {operation: handler for operation, handler in found.items() if operation not in loss.customized_loss_ops}


KEPT: Final[dict[str, tuple[tuple[str, str, Callable[[], Any]], ...]]] = {
    "accelerate.state": (
        ("PartialState", "_shared_state", dict),
        ("AcceleratorState", "_shared_state", dict),
        ("GradientState", "_shared_state", dict),
    ),
    "torch.distributed.tensor.parallel.loss": (("DTensor._op_dispatcher", "_custom_op_handlers", _handlers),),
    "lightning_utilities.core.rank_zero": (("rank_zero_only", "rank", _rank),),
}
"""By module: the owner of an attribute, the attribute, and what makes its first value for a rank."""


class RankModules:
    """Of a run. A finder of modules, which notes those that are the user's."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        main, values = sys.modules["__main__"], _read()
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)
            self._remove()
            sys.modules["__main__"] = main
            _write(values)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Python asks for this when a module is imported that is not in `sys.modules`."""
        if not is_simulated():
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not is_users(_place_of(spec)):
            return None
        self._names.add(name)
        if type(spec.loader) is SourceFileLoader:
            spec.loader = WatchedLoader(name, spec.loader.path)
        return spec

    def begin(self) -> None:
        """Of a rank: it has imported nothing yet."""
        self._remove()
        _write({})

    def set_aside(self) -> Callable[[], None]:
        """Take away all that is this rank's; the result puts it back."""
        main, values = sys.modules["__main__"], _read()
        modules, locks = self._remove()

        def put_back() -> None:
            self._remove()
            sys.modules.update(modules)
            _LOCKS.update(locks)
            sys.modules["__main__"] = main
            _write(values)

        return put_back

    def _remove(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Take the user's modules out, with the locks of those that are being imported."""
        if not self._names:
            return {}, {}
        tables: tuple[dict[str, Any], ...] = (sys.modules, _LOCKS)
        modules, locks = ({name: table.pop(name) for name in self._names if name in table} for table in tables)
        return modules, locks


def _place_of(spec: ModuleSpec) -> str:
    """The module's file; of a package without one its folder."""
    folders = spec.submodule_search_locations
    return spec.origin or next(iter(folders or ()), "<frozen")


def _read() -> dict[tuple[str, str], Any]:
    return {(place, name): getattr(owner, name) for place, owner, name, _ in _owners()}


def _write(values: dict[tuple[str, str], Any]) -> None:
    """Give the attributes these values, or first ones."""
    for place, owner, name, first in _owners():
        setattr(owner, name, values[place, name] if (place, name) in values else first())


def _owners() -> Iterator[tuple[str, Any, str, Callable[[], Any]]]:
    """The attributes of packages that were imported."""
    for module, attributes in KEPT.items():
        found = sys.modules.get(module)
        for owner, name, first in attributes if found is not None else ():
            yield f"{module}.{owner}", attrgetter(owner)(found), name, first
