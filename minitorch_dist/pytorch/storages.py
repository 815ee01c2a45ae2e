"""The memory of a rank by category, from torch's own storages. It is entered into the ledger of the rank's device, as that of
our tensors is: so reports, pages and folded runs tell the same of both.

    parameter       what nn.Parameter is made of, and what an optimizer is given
    gradient        what a backward pass makes
    optimizer       what a step makes, and keeps
    activation      what a forward pass makes, while gradients are wanted
    communication   what collectives write, and parameters that FSDP2 has gathered
    other           all else

The peak is counted from the latest optimizer on that the program has made, and from then on a device refuses what does not
fit. Before it models are often whole, in the host's memory, which cannot be told from the device's here.

A storage counts from the operation that made it until torch frees it, or FSDP2 resizes it to nothing. Where the device works
beside its program (see `device_queue`), memory changes in the device's order.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._pytree import tree_leaves

from minitorch_dist.distributed import world
from minitorch_dist.pytorch import device_queue
from minitorch_dist.pytorch.replacing import replaced
from minitorch_dist.pytorch.watching import WatchingMode
from minitorch_dist.tensors.ledger import Ledger
from minitorch_dist.tensors.ledger_report import CATEGORIES, advice
from minitorch_dist.tensors.pools import readable

NAME: Final = "storages"


class KnownStorage:
    """A storage that is counted."""

    __slots__ = ("category", "nbytes", "seen")

    def __init__(self, seen: Any, nbytes: int, category: str) -> None:
        self.seen, self.nbytes, self.category = seen, nbytes, category


class StorageCounts(WatchingMode):
    """Of one rank: while it is on, storages that operations of this thread make are counted."""

    def __init__(self, book: Ledger) -> None:
        super().__init__()
        self.book, self.is_stepping, self.is_training = book, False, False
        self._known: dict[int, KnownStorage] = {}
        self._freed: deque[tuple[int, Any]] = deque()  # finalizers run anywhere, so they only append

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self.count(result, self._category())

    def _category(self) -> str:
        """Of what is made now."""
        if self.is_stepping:
            return "optimizer"
        if torch._C._current_graph_task_id() != -1:
            return "gradient"
        return "activation" if torch.is_grad_enabled() else "other"

    def count(self, given: Any, category: str, is_certain: bool = False, only: Any = CATEGORIES) -> None:
        """Enter the storages of these tensors; those that are known move to this category where it is certain, if they
        are in one of `only`."""
        self._settle()
        for storage in _storages(given):
            known = self._known.get(storage._cdata)
            if known is None:
                seen = weakref.ref(storage, partial(_note, self._freed, storage._cdata))
                known = self._known[storage._cdata] = KnownStorage(seen, 0, category)
                self._resize(known, storage.nbytes())
            elif is_certain and known.category != category and known.category in only:
                nbytes = known.nbytes
                self._resize(known, 0)
                known.category = category
                self._resize(known, nbytes)

    def resized(self, storage: Any) -> None:
        known = self._known.get(storage._cdata)
        if known is not None:
            self._resize(known, storage.nbytes())

    def _resize(self, known: KnownStorage, nbytes: int) -> None:
        more, known.nbytes = nbytes - known.nbytes, nbytes
        if more:
            device_queue.later(partial(_change, self.book, known.category, more, self.is_training))

    def _settle(self) -> None:
        while self._freed:
            key, seen = self._freed.popleft()
            known = self._known.get(key)
            if known is not None and known.seen is seen:
                self._resize(self._known.pop(key), 0)

    def __repr__(self) -> str:
        return f"<StorageCounts of {len(self._known)} storages>"


def _note(freed: deque[tuple[int, Any]], key: int, seen: Any) -> None:
    freed.append((key, seen))


def _change(book: Ledger, category: str, nbytes: int, may_refuse: bool) -> None:
    """CUDA's error where it does not fit."""
    book.change({category: nbytes})
    if may_refuse and nbytes > 0 and book.live > book.budget:
        now = book.snapshot()
        raise torch.OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {readable(nbytes)} ({category}) on a simulated device of "
            f"{readable(book.budget)}, of which {readable(book.budget - now.live + nbytes)} was free.\n{now}\n"
            f"{advice(now, category, nbytes)}"
        )


def _storages(given: Any) -> Iterator[Any]:
    for leaf in tree_leaves(given):
        for each in _parts(leaf):
            if each.layout is torch.strided and each.device.type != "meta":
                yield each.untyped_storage()


def _parts(leaf: Any) -> list[torch.Tensor]:
    """A tensor itself; of a DTensor the local one; of anything else nothing."""
    if hasattr(type(leaf), "__tensor_flatten__"):
        return [part for name in leaf.__tensor_flatten__()[0] for part in _parts(getattr(leaf, name))]
    return [leaf] if isinstance(leaf, torch.Tensor) else []


def of_rank() -> StorageCounts | None:
    found: StorageCounts | None = world.place().given.get(NAME)
    return found


def tag(tensors: Iterable[Any], category: str) -> None:
    """These tensors turn out to be of this category."""
    counts = of_rank()
    if counts is not None:
        counts.count(list(tensors), category, is_certain=True)


def note_written(tensors: Iterable[Any]) -> None:
    """A collective writes into these: what had no category that says more is communication."""
    counts = of_rank()
    if counts is not None:
        counts.count(list(tensors), "communication", is_certain=True, only=("other", "activation"))


@contextmanager
def around_run() -> Iterator[None]:
    """Torch tells of parameters, of steps, and of storages that are resized."""
    with ExitStack() as around:
        storage, parameter, optimizer = torch.UntypedStorage, torch.nn.Parameter, torch.optim.Optimizer
        around.enter_context(replaced(storage, "resize_", _resize(storage.resize_)))
        around.enter_context(replaced(parameter, "__new__", _new_parameter(parameter.__new__)))
        around.enter_context(replaced(optimizer, "add_param_group", _add_group(optimizer.add_param_group)))
        around.callback(register_optimizer_step_pre_hook(_stepping).remove)
        around.callback(register_optimizer_step_post_hook(_stepped).remove)
        yield


@contextmanager
def around_program(book: Ledger) -> Iterator[None]:
    given = world.place().given
    given[NAME] = counts = StorageCounts(book)
    with counts:
        yield


def _resize(original: Callable[..., Any]) -> Callable[..., Any]:
    def resize_(self: Any, *args: Any) -> Any:
        result = original(self, *args)
        counts = of_rank()
        if counts is not None:
            counts.resized(self)
        return result

    return resize_


def _new_parameter(original: Callable[..., Any]) -> Callable[..., Any]:
    def new(kind: Any, data: Any = None, requires_grad: bool = True) -> Any:
        made = original(kind, data, requires_grad)
        is_gathered = sys._getframe(1).f_code.co_name == "init_unsharded_param"  # by FSDP2
        tag([made], "communication" if is_gathered else "parameter")
        return made

    return new


def _add_group(original: Callable[..., None]) -> Callable[..., None]:
    def add_param_group(self: Any, param_group: Any) -> None:
        original(self, param_group)
        tag(self.param_groups[-1]["params"], "parameter")
        counts = of_rank()
        if counts is not None:
            counts.is_training = True
            device_queue.later(counts.book.reset_peak)

    return add_param_group


def _stepping(optimizer: Any, args: Any, kwargs: Any) -> None:
    counts = of_rank()
    if counts is not None:
        counts.is_stepping = True
        groups = optimizer.param_groups
        tag([p.grad for group in groups for p in group["params"] if p.grad is not None], "gradient")


def _stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
    counts = of_rank()
    if counts is not None:
        counts.is_stepping = False
