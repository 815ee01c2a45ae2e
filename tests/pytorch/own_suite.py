"""PyTorch's own `distributed_test.py`, which its wheel contains, with gloo and with ours in gloo's place.

    python -m tests.pytorch.own_suite gloo                     all tests, as PyTorch runs them
    python -m tests.pytorch.own_suite mtd                      the same, on our wires
    python -m tests.pytorch.own_suite mtd test_all_gather      only these

Each prints a line of every test, and writes its results beside the others' (`--to`). Most of these tests ask
whether the backend's name is gloo. So ours gets this name here: `ProcessGroupGloo` is replaced.
It needs `pip install expecttest`, as PyTorch's test helpers do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import unittest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp())
os.environ["BACKEND"] = "gloo"
os.environ["MASTER_ADDR"] = "127.0.0.1"


def put_ours_in_gloos_place() -> None:
    """From now on, what torch makes as gloo's groups are ours."""
    from torch.distributed import distributed_c10d as c10d

    from minitorch_dist.pytorch.creation import create

    class Asked:
        """As torch tells it to a backend that is registered."""

        def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
            self.store, self.group_rank, self.group_size, self.timeout = store, rank, size, timeout
            self.global_ranks_in_group, self.group_id = making[-1]

    making: list[Any] = []
    helper = c10d._new_process_group_helper

    def noting(
        size: int, rank: int, ranks: Any, backend: Any, store: Any, group_name: Any, *args: Any, **kw: Any
    ) -> Any:
        making.append((ranks, group_name))
        try:
            return helper(size, rank, ranks, backend, store, group_name, *args, **kw)
        finally:
            making.pop()

    from minitorch_dist.pytorch.process_group import MtdProcessGroup

    class Meta(type(MtdProcessGroup)):  # type: ignore[misc]
        def __call__(cls, store: Any, rank: int, size: int, timeout: Any = c10d.default_pg_timeout) -> Any:
            group = create(Asked(store, rank, size, timeout), None)
            group.options = type("Options", (), {})()
            return group

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, MtdProcessGroup)

    class InGloosPlace(metaclass=Meta):
        """`isinstance` and calls are what torch does with its class."""

    c10d.ProcessGroupGloo = InGloosPlace
    c10d._new_process_group_helper = noting


def suite(names: list[str]) -> unittest.TestSuite:
    from torch.testing._internal.distributed import distributed_test as own

    class TestDistBackendWithSpawn(own.TestDistBackend, own.DistributedTest._DistTestBase):
        def setUp(self) -> None:
            super().setUp()
            self._start_processes(get_context("fork").Process)  # a fresh interpreter takes seconds to import torch

    # Torch's profiler shows ours as mtd:all_reduce, within the call; these tests want gloo:all_reduce, from thread to thread.
    own.PROFILING_SUPPORTED_BACKENDS.clear()
    own.SEND_RECV_PROFILING_SUPPORTED_BACKENDS.clear()
    globals()["TestDistBackendWithSpawn"] = TestDistBackendWithSpawn
    import torch.testing._internal.common_distributed as common

    common.TIMEOUT_DEFAULT = 100
    for name in common.TIMEOUT_OVERRIDE:
        common.TIMEOUT_OVERRIDE[name] = min(common.TIMEOUT_OVERRIDE[name], 100)
    every = unittest.defaultTestLoader.getTestCaseNames(TestDistBackendWithSpawn)
    return unittest.TestSuite(TestDistBackendWithSpawn(name) for name in names or every)


class Results(unittest.TestResult):
    """A line of each test."""

    def __init__(self, screen: Any) -> None:
        super().__init__()
        self.screen = screen
        self.found: dict[str, str] = {}
        self.details: dict[str, str] = {}

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._since = time.perf_counter()

    def _say(self, test: Any, said: str, why: str = "") -> None:
        name = test._testMethodName
        if self.found.get(name) in (None, "passed"):
            self.found[name] = said
            seconds = time.perf_counter() - self._since
            print(f"{said:8} {seconds:6.1f} s  {name}  {why}", file=self.screen, flush=True)

    def addSuccess(self, test: Any) -> None:
        self._say(test, "passed")

    def addSkip(self, test: Any, reason: str) -> None:
        self._say(test, "skipped", reason)

    def addFailure(self, test: Any, error: Any) -> None:
        text = str(error[1])
        raised = re.findall(r"^[\w.]*(?:Error|Mismatch|Lost|Failed|Timeout)\b.*", text, re.MULTILINE)
        self.details[test._testMethodName] = text
        self._say(test, "failed", (raised or text.strip().splitlines() or [""])[0][:300])

    addError = addFailure  # noqa: N815 - as unittest has it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backend", choices=["gloo", "mtd"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--to", type=Path, help="where to write the results, as JSON")
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="where the ranks write, and tracebacks")
    asked = parser.parse_args()
    sys.argv[1:] = []
    if asked.backend == "mtd":
        put_ours_in_gloos_place()
    screen = os.fdopen(os.dup(1), "w")
    log = os.open(asked.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 1)  # for the ranks, too
    os.dup2(log, 2)
    results = Results(screen)
    suite(asked.names).run(results)
    for name, text in results.details.items():
        print(f"===== {name}\n{text}")
    kinds = list(results.found.values())
    print({kind: kinds.count(kind) for kind in ("passed", "skipped", "failed")}, file=screen)
    if asked.to:
        asked.to.write_text(json.dumps(results.found, indent=1))


if __name__ == "__main__":
    main()
