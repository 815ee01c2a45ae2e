"""Ranks of real PyTorch: one process imports torch, and forks them.

    python -m mtd.course.real_ranks 3 train.py --steps 40        a script's main on three ranks, over gloo

It prints a line of JSON: of each rank the losses and the last weights. (See `worlds.play`.)
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from mtd.free_ports import free_port

LIMIT: Final = 120.0  # seconds for the answer of a rank, on a busy machine


def on_ranks(size: int, backend: str, program: Callable[[], Any]) -> tuple[list[Any], str]:
    """The results of all ranks, or what the first one that failed says."""
    fork, port = multiprocessing.get_context("fork"), free_port()
    pipes, ranks = [], []
    for rank in range(size):
        ours, theirs = fork.Pipe()
        ranks.append(fork.Process(target=_live, args=(rank, size, port, backend, program, theirs)))
        ranks[-1].start()
        theirs.close()
        pipes.append(ours)
    answers = [_answer(pipe) for pipe in pipes]
    for process in ranks:
        process.join(10)
        process.kill()
    failed = [wrong for _, wrong in answers if wrong]
    if failed:  # one that was told by another rank knows less
        return [], min(failed, key=lambda wrong: ("PeerLost" in wrong, "PeerFailed" in wrong))
    return [found for found, _ in answers], ""


def _answer(pipe: Any) -> tuple[Any, str]:
    try:
        answer: tuple[Any, str] = pipe.recv() if pipe.poll(LIMIT) else (None, f"no end after {LIMIT:.0f} s")
    except EOFError:
        return None, "a rank ended without a word"
    return answer


def _live(rank: int, size: int, port: int, backend: str, program: Callable[[], Any], pipe: Any) -> None:
    import torch.distributed as dist

    os.environ.update(RANK=f"{rank}", LOCAL_RANK=f"{rank}", WORLD_SIZE=f"{size}")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=f"{port}")
    try:
        dist.init_process_group(backend)
        pipe.send((program(), ""))
        dist.destroy_process_group()
    except BaseException as error:
        pipe.send((None, _in_words(error)))


def _in_words(error: BaseException) -> str:
    """The error, and the last of the learner's lines on its way."""
    lines = [f"{Path(entry.filename).name}:{entry.lineno}" for entry in traceback.extract_tb(error.__traceback__)]
    own = [line for line in lines if line.partition(".py")[0] in _modules()]
    return f"{type(error).__name__}{f', at {own[-1]}' if own else ''}: {error}"


def _modules() -> set[str]:
    return {value.partition(":")[0] for name, value in os.environ.items() if name.startswith("MTD_")}


def main(size: str, script: str, *arguments: str) -> None:
    import torch.distributed  # here once, and not in each rank

    from mtd.course import worlds

    torch.set_num_threads(1)
    found, wrong = on_ranks(int(size), "gloo", partial(worlds.quietly, script, arguments))
    if wrong:
        sys.exit(wrong)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
