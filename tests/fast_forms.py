"""Tests of the fast forms themselves. They are skipped where MINITORCH_DIST_SIMPLE=1 leaves these out (`make simple`)."""

from __future__ import annotations

import os
from typing import Final

import pytest

needs_fast_forms: Final = pytest.mark.skipif(
    os.environ.get("MINITORCH_DIST_SIMPLE") == "1", reason="the fast forms are left out"
)
