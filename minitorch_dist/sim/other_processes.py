"""The same call in two other processes, which differ as processes do: for `determinism`.

    we ── function, arguments ──► a process, whose strings have the hashes of seed 1 ──► result
       └─────────────────────────► another one, seed 2 ────────────────────────────────► result

Sets of strings have another order there, and objects other addresses. Both processes begin anew. So the
state that this process has set up meanwhile is missing in both, and is no difference between them.

Functions travel by name, or as their code (see `multiprocessing.sources`): both ends are the same Python. Only our own
children read this; it does not come from the network.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from minitorch_dist.multiprocessing import ending, sources
from minitorch_dist.multiprocessing.process_pool import ProcessPool
from minitorch_dist.tensors import generator

HASHES = ("1", "2")  # PYTHONHASHSEED of each


class CannotBeSent(TypeError):
    """The call has no form that another process understands; or its result has none."""


def is_being_born() -> bool:
    """Whether this process is still reading the script of the process that started it."""
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))


def call_twice(function: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    """The results of `function(*args)` in two processes."""
    order = generator.current(), _packed(function, args)
    crews: list[ProcessPool] = []
    try:
        for hashes in HASHES:
            with _hash_seed(hashes):
                crews.append(ProcessPool(_serve, [order], "spawn", daemon=True, name="elsewhere"))
        return [_result(crew) for crew in crews]
    finally:
        for crew in crews:
            crew.end(((None, 5.0), (signal.SIGKILL, None)))
            crew.close()


def _result(crew: ProcessPool) -> Any:
    has_ended = False
    while 0 not in crew.reports and not has_ended:
        has_ended = crew.exitcode(0) is not None  # if so, one last look hears all that it said
        crew.news()
    report = crew.reports.get(0)
    if report is None:
        raise CannotBeSent(f"the other process {ending.words(crew.exitcode(0))}")
    if report.error is not None:
        raise CannotBeSent(f"the other process could not do it ({report.error.text.splitlines()[-1]})")
    return pickle.loads(report.result or b"")


@contextmanager
def _hash_seed(seed: str) -> Iterator[None]:
    """For processes that begin within the block."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = seed
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONHASHSEED"]
        else:
            os.environ["PYTHONHASHSEED"] = before


def _serve(order: tuple[generator.Generator, bytes], at_end: ExitStack) -> Any:
    random_state, packed = order
    if random_state.is_chosen:  # else this process has its own, as any
        generator.install(random_state)
    function, args = pickle.loads(packed)
    return function(*args)


def _packed(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    try:
        return sources.packed((function, args))
    except TypeError as error:
        raise CannotBeSent(f"it cannot be sent to another process ({error.__cause__})") from error
