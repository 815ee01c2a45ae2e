"""A Work of ours as torch's Work: what a collective call returns to `torch.distributed`, and to DDP's reducer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as torch_dist
from torch.futures import Future

from minitorch_dist.distributed.work import Work as OurWork
from minitorch_dist.pytorch import device_queue
from minitorch_dist.pytorch.errors import as_torch
from minitorch_dist.pytorch.not_compiled import not_compiled
from minitorch_dist.pytorch.virtual_futures import VirtualFuture, fail, in_this_backward, is_in_backward


@not_compiled
class DoneWork(torch_dist._Work):
    """Something that is done already."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        super().__init__()
        self._tensors = tensors
        self._future: Future[list[torch.Tensor]] | None = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """True once it is done; raises what went wrong, or DistTimeout."""
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def exception(self) -> BaseException | None:
        return None

    def synchronize(self) -> None:
        self.wait()

    def result(self) -> list[torch.Tensor]:
        self.wait()
        return self._tensors

    def source_rank(self) -> int:
        raise RuntimeError(
            "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
        )

    def _source_rank(self) -> int:
        return self.source_rank()

    def get_future(self) -> Future[list[torch.Tensor]]:
        """A future of the tensors that were written. There is one of each Work."""
        if self._future is None:
            self._future = self._new_future()
        return self._future

    def _new_future(self) -> Future[list[torch.Tensor]]:
        future = Future[list[torch.Tensor]]()
        future.set_result(self._tensors)
        return future


@not_compiled
class GoingWork(DoneWork):
    """An operation that goes on beside the caller."""

    def __init__(self, ours: OurWork, tensors: list[torch.Tensor]) -> None:
        super().__init__(tensors)
        self._ours = ours

    def wait(self, timeout: timedelta | None = None) -> bool:
        try:
            return self._ours.wait(timeout)
        except Exception as error:
            as_torch(error)
            raise

    def is_completed(self) -> bool:
        return self._ours.is_completed()

    def is_success(self) -> bool:
        return self._ours.is_success()

    def exception(self) -> BaseException | None:
        return as_torch(self._ours.exception())  # type: ignore[no-any-return]

    def source_rank(self) -> int:
        return self._ours.source_rank()

    def _new_future(self) -> Future[list[torch.Tensor]]:
        if not self._ours.is_virtual and not is_in_backward():
            return self._settled_by_worker(Future())
        future = VirtualFuture(self)
        in_this_backward(future, self)
        return future

    def _settled_by_worker(self, future: Future[Any]) -> Future[Any]:
        """Our future completes torch's, from the thread that carries the operation out."""

        def settle(ours: Any) -> None:
            try:
                ours.value()
            except Exception as error:
                fail(future, as_torch(error))
            else:
                future.set_result(self._tensors)

        self._ours.get_future().add_done_callback(settle)
        return future


@not_compiled
class QueuedWork(DoneWork):
    """An operation that the rank's device begins later. To wait lets the device wait, and not the program."""

    def __init__(self, later: device_queue.BegunLater, tensors: list[torch.Tensor]) -> None:
        super().__init__(tensors)
        self._later = later

    def wait(self, timeout: timedelta | None = None) -> bool:
        device_queue.wait(self._later)
        return True

    def is_completed(self) -> bool:
        device_queue.flush()
        return self._later.is_completed()

    def _new_future(self) -> Future[list[torch.Tensor]]:
        self.wait()
        return super()._new_future()


@not_compiled
class JointWork(DoneWork):
    """Several operations that were begun as one."""

    def __init__(self, works: Sequence[DoneWork], tensors: list[torch.Tensor]) -> None:
        super().__init__(tensors)
        self._works = works

    def wait(self, timeout: timedelta | None = None) -> bool:
        return all(work.wait(timeout) for work in self._works)

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def is_success(self) -> bool:
        return all(work.is_success() for work in self._works)

    def exception(self) -> BaseException | None:
        return next((work.exception() for work in self._works if work.exception()), None)

    def _new_future(self) -> Future[list[torch.Tensor]]:
        """One for all. The operations of a group end in their order, so the last one's end is the end of all."""
        return self._works[-1].get_future().then(self._see) if self._works else super()._new_future()

    def _see(self, last: Future[Any]) -> list[torch.Tensor]:
        last.value()
        self.wait()
        return self._tensors
