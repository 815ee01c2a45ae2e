"""What is freed is taken again, and not fetched from the system page by page."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from minitorch_dist.tensors import malloc_tuning

STEPS = """
import resource, sys
import numpy as np
{first}
def step():
    a = [np.ones(1 << 20, np.float32) for _ in range(8)]
    b = [x + 1 for x in a]
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(first: str, **variables: str) -> int:
    """How often memory was fetched in five steps that make and free 64 MB each."""
    environment = {k: v for k, v in os.environ.items() if k not in malloc_tuning.VARIABLES} | variables
    code = STEPS.format(first=first)
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.skipif(
    not sys.platform.startswith("linux")
    or not hasattr(os, "confstr_names")
    or "CS_GNU_LIBC_VERSION" not in os.confstr_names,
    reason="the GNU allocator's rule",
)
def test_memory_stays_with_the_process() -> None:
    given_back = faults("")
    kept = faults("import minitorch_dist")
    told_otherwise = faults("import minitorch_dist", MALLOC_TRIM_THRESHOLD_="131072")
    assert kept * 10 < given_back
    assert told_otherwise > given_back // 2
