"""torch._inductor, as far as programs name it: `_inductor.config` takes any setting. Nothing is compiled."""

from __future__ import annotations

from typing import Any

from minitorch_dist._inductor import config as config
from minitorch_dist.absent import absent

__getattr__ = absent(
    "_inductor",
    "aot_compile aoti_compile_and_package aoti_load_package compile cudagraph_mark_step_begin standalone_compile",
    "Nothing is compiled here: call the function or the module as it is.",
)


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The settings of a mode of compiling: there are none."""
    return {}


def list_options() -> list[str]:
    return []
