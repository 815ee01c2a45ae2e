"""Curves for TensorBoard, written by the package that is installed for it.

`tensorboardX` takes every call of torch's `SummaryWriter`. With `tensorboard` alone there are scalars:
more its own writer does not offer. Importing this module without both is an ImportError, as in torch.
"""

from __future__ import annotations

import importlib
import socket
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from minitorch_dist.tensors.tensor import Tensor


def installed() -> tuple[Any, Any]:
    """The modules `tensorboardX` and `tensorboard.summary`; None for the one that is not asked or not there."""
    try:
        return importlib.import_module("tensorboardX"), None
    except ModuleNotFoundError:
        pass
    try:
        return None, importlib.import_module("tensorboard.summary")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "SummaryWriter hands its curves on to a package that is not installed. Install one with "
            "`pip install tensorboardX` (all calls) or `pip install tensorboard` (scalars). "
            "Without both, print the numbers, or record what ranks send in a journal (docs/simulator.md).",
            name="tensorboard",
        ) from None


FULL, SCALARS_ONLY = installed()


class SummaryWriter:
    """Writes to `log_dir`, or to a folder in `runs/` that is named by the time and this machine."""

    def __init__(
        self,
        log_dir: str | Path | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if log_dir is None:
            started = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = Path("runs") / f"{started}_{socket.gethostname()}{comment}"
        self.log_dir = str(log_dir)
        self._writers: dict[str, Any] = {}  # with scalars only: by folder
        if FULL is not None:
            self._full = FULL.SummaryWriter(
                self.log_dir,
                purge_step=purge_step,
                max_queue=max_queue,
                flush_secs=flush_secs,
                filename_suffix=filename_suffix,
            )
        elif purge_step is not None:
            raise NotImplementedError("purge_step needs tensorboardX: `pip install tensorboardX`.")
        else:
            self._full = None
            self._in(self.log_dir)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A method `add_…` that is handed on: tensors among its arguments become arrays."""
        if not name.startswith("add_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name == "add_graph":
            raise NotImplementedError("No model is traced here; `print(model)` shows its layers.")
        if self._full is None:
            raise NotImplementedError(
                f"{name} needs tensorboardX: `pip install tensorboardX`. "
                "The writer of tensorboard alone takes scalars."
            )
        method = getattr(self._full, name)
        return lambda *args, **options: method(*arrays(args), **arrays(options))

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """One point of the curve `tag`."""
        value = arrays(scalar_value)
        if self._full is not None:
            self._full.add_scalar(tag, value, global_step, walltime)
        else:
            self._in(self.log_dir).add_scalar(tag, value, global_step or 0, wall_time=walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A point of each of several curves in one picture."""
        values = arrays(tag_scalar_dict)
        if self._full is not None:
            self._full.add_scalars(main_tag, values, global_step, walltime)
            return
        for tag, value in values.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            self._in(folder).add_scalar(main_tag, value, global_step or 0, wall_time=walltime)

    def _in(self, folder: str) -> Any:
        if folder not in self._writers:
            self._writers[folder] = SCALARS_ONLY.Writer(folder)
        return self._writers[folder]

    def get_logdir(self) -> str:
        return self.log_dir

    def flush(self) -> None:
        for writer in self._writers.values() if self._full is None else [self._full]:
            writer.flush()

    def close(self) -> None:
        for writer in self._writers.values() if self._full is None else [self._full]:
            writer.close()
        self._writers.clear()  # a point that comes later opens a file again

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def arrays(value: Any) -> Any:
    """`value` with numpy arrays instead of tensors, also inside of lists, tuples and dicts."""
    if isinstance(value, Tensor):
        kept = value.detach().cpu()
        return (kept.float() if kept.dtype.is_floating_point else kept).numpy()
    if isinstance(value, (list, tuple)):
        return type(value)(arrays(item) for item in value)
    if isinstance(value, dict):
        return {key: arrays(item) for key, item in value.items()}
    return value
