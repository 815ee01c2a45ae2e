"""The first program of a worker's process: it runs the user's script as Python itself would, and notes why
it ended.

    python -u entry.py PARENT script train.py --lr 0.1
    python -u entry.py PARENT module package.train --lr 0.1
    python -u entry.py PARENT command ./train.sh

The file named by TORCHELASTIC_ERROR_FILE gets the traceback, in torch's form, without the script
being decorated; `extraInfo` says moreover which classes the exception has. The process ends with PARENT, the agent that started it. Standard library only, and no module
of ours: the script must find the interpreter as it would without us.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading  # noqa: TID251 - only to see whether the script's threads have ended
import time
import traceback
import types
from typing import Any

ME = __file__


def main() -> None:
    parent, kind, target, *arguments = sys.argv[1:]
    die_with(int(parent))
    try:
        if kind == "command":
            hear_ctrl_c(signal.SIG_DFL)
            os.execvp(target, [target, *arguments])
        write_whole_lines()
        hear_ctrl_c(signal.getsignal(signal.SIGINT))
        try:
            if kind == "module":
                run_module(target, arguments)
            else:
                run_script(target, arguments)
        except SystemExit as leaving:
            if not leaving.code:
                part()
            raise
        part()
    except SystemExit as leaving:
        if leaving.code is not None and not isinstance(leaving.code, int):  # sys.exit("text")
            note(leaving)
        raise
    except KeyboardInterrupt as error:  # the agent says so, once for all
        note(error)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(130)
    except BaseException as error:
        error.__traceback__ = own(error.__traceback__)
        shorten(error)
        note(error)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def write_whole_lines() -> None:
    """Without buffers, so that nothing is lost; but a text and its newline are one write, as others share the console."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)


def die_with(parent: int) -> None:
    """End when the agent does, also when it is killed. Elsewhere than on Linux its warden sees to it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def hear_ctrl_c(rule: Any) -> None:
    """We were born deaf to it (see `multiprocessing.sigint`), for as long as the interpreter starts."""
    signal.signal(signal.SIGINT, rule)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


# ------------------------------------------------------------------------------ running the script


def run_script(path: str, arguments: list[str]) -> None:
    """As `python path arguments` does."""
    sys.argv = [path, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))  # before any import
    with open(path, "rb") as file:
        text = file.read()
    code = compile(text, path, "exec", dont_inherit=True)
    script = fresh_main()
    script.__file__ = path
    exec(code, vars(script))


def run_module(name: str, arguments: list[str]) -> None:
    """As `python -m name arguments` does."""
    import runpy

    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()
    sys.argv = [name, *arguments]
    fresh_main()
    run = vars(runpy)["_run_module_as_main"]  # what `-m` itself calls
    run(name)


def part() -> None:
    """The script is over. If it uses us: has it come to the same end as on the other ranks?"""
    bootstrap = sys.modules.get("minitorch_dist.distributed.bootstrap")
    world = sys.modules.get("minitorch_dist.distributed.world")
    threads = threading.enumerate()
    is_over = all(each.daemon for each in threads if each is not threading.main_thread())
    if bootstrap is not None and world is not None and is_over:
        bootstrap.part(world.place())


def shorten(error: BaseException) -> None:
    """Of an error that says in words what happened, the frames that are not the script's."""
    traces = sys.modules.get("minitorch_dist.distributed.traces")
    if traces is not None:
        traces.shorten(error)


def fresh_main() -> types.ModuleType:
    """A `__main__` for the script; ours is kept, since its functions still run."""
    keep.append(sys.modules["__main__"])
    script = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(script)["__builtins__"] = __builtins__
    return script


keep: list[types.ModuleType] = []

# ----------------------------------------------------------------------------------- why it ended


def own(trace: types.TracebackType | None) -> types.TracebackType | None:
    """The part of a traceback that is not ours, nor runpy's."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (ME, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


def note(error: BaseException, is_over: bool = True) -> None:
    """Write the error file, whole or not at all. `is_over`: the script has ended with this error."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    now = time.time()  # noqa: TID251 - a date
    extra = {
        "py_callstack": "".join(traceback.format_exception(error)),
        "timestamp": str(int(now)),
        "time": repr(now),
        "kinds": [each.__name__ for each in type(error).__mro__],
        "is_over": is_over,
    }
    said = {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump({"message": said}, file)
        os.replace(draft, path)
    except OSError as trouble:
        print(f"the error file {path} could not be written: {trouble}", file=sys.stderr)


if __name__ == "__main__":
    main()
