"""One worker of three whose messages fail or come late: what came of each line, in torch or here.

`tests.parity.test_faulty_rpc` runs it. Each kind of message that is in `FAIL` fails once for each message, and those in
`DELAY` come late. A message that torch sends again comes after a second.
"""

from __future__ import annotations

import importlib
import pickle
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FAIL = [
    "RREF_FORK_REQUEST", "RREF_CHILD_ACCEPT", "RREF_USER_DELETE", "CLEANUP_AUTOGRAD_CONTEXT_REQ",
    "PYTHON_REMOTE_CALL",
]  # fmt: skip
DELAY = {"SCRIPT_CALL": 0.5, "SCRIPT_RREF_FETCH_CALL": 0.5}
EARLY = 0.05  # seconds: before what is late has come
LIMIT = 30.0  # seconds, for what comes about in the background
SAYINGS = (
    "RPC ran for more than",
    "RRef creation",
    "Send attempt failed intentionally",
    "No mapping to rpc::MessageType exists",
)

torch: Any
rpc: Any
autograd: Any


def use(library: str) -> None:
    """Let the functions below be about this library."""
    global torch, rpc, autograd
    torch = importlib.import_module(library)
    rpc = importlib.import_module(f"{library}.distributed.rpc")
    autograd = importlib.import_module(f"{library}.distributed.autograd")
    importlib.import_module(f"{library}.distributed.rpc._testing")


def options(fail: list[str], delay: dict[str, float], meeting: str) -> Any:
    return rpc.backend_registry.construct_rpc_backend_options(
        rpc.backend_registry.BackendType["FAULTY_TENSORPIPE"], init_method=meeting, num_worker_threads=8,
        messages_to_fail=fail, messages_to_delay=delay, num_fail_sends=1,
    )  # fmt: skip


def begin(rank: int, size: int, options: Any) -> None:
    backend = rpc.backend_registry.BackendType["FAULTY_TENSORPIPE"]
    rpc.init_rpc(
        f"w{rank}", backend=backend, rank=rank, world_size=size, rpc_backend_options=options
    )


def add(a: Any, b: Any) -> Any:
    return a + b


def value_of(rref: Any, more: Any) -> Any:
    return rref.to_here() + more


def owned() -> int:
    return int(rpc._rref_context_get_debug_info()["num_owner_rrefs"])


def knows(context_id: int) -> bool:
    try:
        autograd.get_gradients(context_id)
    except RuntimeError:
        return False
    return True


def comes_about(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + LIMIT
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    return is_so()


def outcome(line: Callable[[], Any]) -> Any:
    try:
        found = line()
        return found.tolist() if isinstance(found, torch.Tensor) else found
    except Exception as error:
        builtin = next(k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins")
        said = [words for words in SAYINGS if re.search(words, str(error))]
        return ["raised", builtin, said[:1]]


def with_timeout(seconds: float, line: Callable[[], Any]) -> Any:
    rpc._set_rpc_timeout(seconds)
    try:
        return line()
    finally:
        rpc._set_rpc_timeout(60.0)


def cleaned_up() -> Any:
    with autograd.context() as context_id:
        c = rpc.rpc_sync("w1", add, args=(torch.ones(2, requires_grad=True), 1))
        autograd.backward(context_id, [c.sum()])
        was_there = rpc.rpc_sync("w1", knows, args=(context_id,))
    return was_there, comes_about(lambda: not rpc.rpc_sync("w1", knows, args=(context_id,)))


def lines() -> dict[str, Callable[[], Any]]:
    x = torch.ones(2)
    late = rpc.remote("w1", torch.add, args=(x, 1))
    failed = rpc.remote("w1", add, args=(x, 1))
    held = {"passed": rpc.remote("w1", torch.add, args=(x, 2))}

    def deleted() -> Any:
        held.clear()
        return comes_about(lambda: rpc.rpc_sync("w1", owned) == 1)

    return {
        "late": lambda: rpc.rpc_sync("w1", torch.add, args=(x, 1), timeout=EARLY),
        "late future": lambda: rpc.rpc_async("w1", torch.add, args=(x, 1), timeout=EARLY).wait(),
        "in time": lambda: rpc.rpc_sync("w1", torch.add, args=(x, 1)),
        "without end": lambda: rpc.rpc_sync("w1", torch.add, args=(x, 1), timeout=0),
        "late by default": lambda: with_timeout(EARLY, lambda: rpc.rpc_sync("w1", torch.add, args=(x, 1))),
        "another kind": lambda: rpc.rpc_sync("w1", add, args=(x, 1)),
        "not made": lambda: failed.to_here(),
        "not made, passed on": lambda: rpc.rpc_async("w2", value_of, args=(failed, 1)).wait(),
        "fetched late": lambda: late.to_here(EARLY),
        "fetched": lambda: late.to_here(),
        "passed on": lambda: rpc.rpc_sync("w2", value_of, args=(held["passed"], 1)),
        "kept": lambda: rpc.rpc_sync("w1", owned),
        "deleted": deleted,
        "cleaned up": cleaned_up,
    }  # fmt: skip


def program(rank: int, meeting: str = "env://") -> dict[str, Any]:
    given = options(FAIL, DELAY, meeting)
    found: dict[str, Any] = {
        "options": [given.num_fail_sends, sorted(given.messages_to_fail), given.num_worker_threads]
    }
    begin(rank, 3, given)
    if rank == 0:
        found |= {name: outcome(line) for name, line in lines().items()}
    rpc.shutdown()
    return found


def alone(meeting: str = "env://") -> Any:
    """A kind of message that there is not."""
    return outcome(lambda: begin(0, 1, options(["NONSENSE"], {}, meeting)))


def torch_rank(rank: int, folder: str) -> None:
    use("torch")
    found = program(rank, f"file://{folder}/meeting")
    if rank == 0:
        found["unknown kind"] = alone(f"file://{folder}/alone")
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(found))
