"""Start a broker as a process of its own, and stop it again.

It is a process and not a thread. A broker in the process of a computing rank would share its interpreter,
and answer 1 KB in 12 ms instead of one.

Its standard input is a leash. It ends when the process that started the broker has released it or has died.
Then the broker goes on for the clients that are connected, and ends with the last of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from transports.errors import DistNetworkError

ROOT = Path(__file__).resolve().parents[2]  # where `transports` is imported from
GRACE = 5.0  # seconds for a broker to end when it is asked to


class BrokerProcess:
    """A broker that was started here. Ends with `stop`; `with` stops it too."""

    def __init__(self, address: str, process: subprocess.Popen[bytes]) -> None:
        self.address, self.pid = address, process.pid
        self._process: subprocess.Popen[bytes] | None = process

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End it now, clients or not; nothing is left behind."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            _let_go(process)
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def release(self) -> None:
        """Leave it to its clients: it ends when the last of them has left."""
        if self._process is not None:
            _let_go(self._process)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
            with warnings.catch_warnings():  # that it goes on is what we want
                warnings.simplefilter("ignore", ResourceWarning)
                self._process = None

    def __enter__(self) -> BrokerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(*options: str, environment: Mapping[str, str] | None = None) -> BrokerProcess:
    """Start a broker with these command-line options and return once it listens."""
    variables = dict(os.environ if environment is None else environment)
    found = variables.get("PYTHONPATH")
    variables["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([found] if found else [])])
    process = subprocess.Popen(
        [sys.executable, "-m", "transports.broker", "--leash", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=variables,
        start_new_session=True,  # Ctrl-C is for the ranks; they say goodbye first
    )
    assert process.stdout is not None, "it was started with a pipe"
    with process.stdout:
        line = process.stdout.readline().decode().strip()
    if not line.startswith("mqtt://"):
        _let_go(process)
        code = process.wait()
        raise DistNetworkError(
            f"the MQTT broker did not start: {line or f'it ended with code {code}'}. "
            "Run `python -m transports.broker` to see more"
        )
    return BrokerProcess(line, process)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None, "it was started with a pipe"
    with suppress(OSError):
        process.stdin.close()
