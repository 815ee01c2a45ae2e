"""The entry point by which PyTorch knows the backend `mtd`, without an import in the user's script.

`import torch` calls `register` (the group `torch.backends` in setup.cfg). It costs next to nothing and never
fails: the library itself is imported when a script asks for the backend, in `init_process_group("mtd")`.
"""

from __future__ import annotations

from typing import Any


def register() -> None:
    """Tell torch that there is a backend `mtd`."""
    try:
        from torch.distributed import Backend
    except ImportError:  # a torch that was built without `torch.distributed`
        return
    if "MTD" not in Backend._plugins:
        Backend.register_backend("mtd", create, extended_api=True, devices=["cpu"])


def create(asked: Any, options: Any) -> Any:
    """A process group, for torch's `init_process_group` and `new_group`."""
    try:
        from minitorch_dist.distributed import callsite
        from minitorch_dist.pytorch import creation
    except ModuleNotFoundError as error:
        raise RuntimeError(
            f"the backend mtd needs {error.name}, which is not installed: pip install 'minitorch_dist[torch]'"
        ) from error
    callsite.add_library(__file__)  # the line that errors name is the user's
    return creation.create(asked, options)
