"""Which release this is, under the names of `torch.version`."""

from __future__ import annotations

__version__ = "0.1.0"
cuda: str | None = None
hip: str | None = None
debug = False
