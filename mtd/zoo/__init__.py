"""Seven hangs that people met in public, each rebuilt in a few lines, and what they look like here.

Each module has `hang`, the program with the bug; `repaired`, the same without it; RANKS; ADDRESS, where
the real one was told; CULPRITS, the ranks that do what the others do not; and one line that is marked
with "the bug". On real networks all but one of them end in a timeout. It names the rank which waited, not
the one that was missing. (One returns wrong numbers first.) `mtd zoo` shows what is said here instead.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
from collections.abc import Callable
from typing import Any

NAMES = (
    "sglang_33289",
    "torchrec_4149",
    "unsloth_zoo_967",
    "lightning_19106",
    "transformers_17478",
    "flight_recorder_3814",
    "pytorch_90339",
)


IMPORTS = (
    ("import minitorch_dist as torch\n", "import torch\nimport torch.distributed as dist\n"),
    ("from minitorch_dist import distributed as dist, sim\n", "from minitorch_dist import sim\n"),
    ("from minitorch_dist import distributed as dist\n", ""),
)


def real(name: str) -> tuple[str, Callable[[], object]]:
    """The same for real PyTorch, by other imports: its text, and `hang` with a process group around it."""
    text = inspect.getsource(exhibit(name))
    for ours, theirs in IMPORTS:
        text = text.replace(ours, theirs)
    file = f"{name}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, Any] = {"__name__": name}
    exec(compile(text, file, "exec"), names)

    def hang() -> None:
        names["dist"].init_process_group("gloo")
        names["hang"]()
        names["dist"].destroy_process_group()

    hang.uses_torch = True  # type: ignore[attr-defined]  # `sim.run` does not look into our own modules
    return text, hang


def exhibit(name: str) -> Any:
    if name not in NAMES:
        raise ValueError(f"there is no {name!r} in the zoo; there are {', '.join(NAMES)}")
    return importlib.import_module(f"{__name__}.{name}")
