"""The attachment that folds a run, `sim.run(…, with_=[folded()])` or `fold=`: two runs are made instead of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from minitorch_dist.sim import attachments
from minitorch_dist.sim.device import Device
from minitorch_dist.sim.report import Report
from minitorch_dist.sim.runner import run as run_all
from mtd.planning.fold import folding
from mtd.planning.fold.folding import Fold
from mtd.timelines import WithTimelines

T = TypeVar("T")
FOLDS: Final = (
    "fold= lets one rank run the program for others. That needs shapes=True, since numbers differ from rank to "
    "rank, and a run without faults, hardships and a journal, which are of single ranks"
)


@dataclass(frozen=True)
class WithFolding(attachments.WayToRun):
    """One rank runs the program for all that do the same. It needs shapes, and it takes devices, memory and timelines
    beside itself.

    Args:
        by: True finds roles; a function of the rank, or an earlier report's `folded`, says them.

    Example:
        >>> def program():
        ...     dist.all_reduce(torch.ones(100))
        >>> report = sim.run(program, 64, with_=[sim.shapes(), sim.folded()])
        >>> len(report.ranks)
        64
    """

    kind = "folding"
    by: Fold = True

    def run(
        self,
        fn: Callable[..., T],
        world_size: int,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        attached: Sequence[attachments.Attachment],
        options: dict[str, Any],
    ) -> Report[T]:
        """Both halves are runs with these options."""
        options = options | {"memory": None, "device": None, "timelines": False, "shapes": False}
        hardships, _ = options.pop("hardships"), options.pop("has_threads", None)
        for each in attached:
            if isinstance(each, attachments.WithMemory):
                options["memory"] = each.room
            elif isinstance(each, Device | attachments.OnDevice):
                options["device"] = each if isinstance(each, Device) else each.devices
            elif isinstance(each, WithTimelines):
                options["timelines"] = True
            elif isinstance(each, attachments.WithShapes):
                options["shapes"] = True
            elif getattr(each, "kind", "") == "pytorch":
                continue  # each half looks whether it is a program of PyTorch's
            elif each is not self and not (isinstance(each, attachments.WithFaults) and not each.planned):
                raise ValueError(FOLDS)
        if not options["shapes"] or hardships:
            raise ValueError(FOLDS)
        return folding.run(run_all, fn, world_size, args, kwargs, self.by, **options)
