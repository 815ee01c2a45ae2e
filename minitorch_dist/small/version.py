"""Which release this is, under the names of `torch.version`."""

from __future__ import annotations

from minitorch_dist.inventory.release import __version__ as __version__

cuda: str | None = None
hip: str | None = None
debug = False
