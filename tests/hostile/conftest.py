"""The suite's parts set variables of the environment and silence a logger, as for a process of their own."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from unittest import mock

import pytest

from tests.hostile import parts


@pytest.fixture(autouse=True)
def surroundings_are_put_back() -> Iterator[None]:
    logger = logging.getLogger(parts.REFUSALS)
    level = logger.level
    with mock.patch.dict(os.environ):
        yield
    logger.setLevel(level)
