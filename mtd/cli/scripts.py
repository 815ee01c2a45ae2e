"""A script as a function that every rank calls."""

from __future__ import annotations

import ast
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from minitorch_dist.distributed import world
from minitorch_dist.distributed.callsite import OURS
from minitorch_dist.launching import rank_environment
from minitorch_dist.launching.rank_environment import RankEnvironment
from minitorch_dist.sim.torch_programs import needs_torch
from mtd.cli.parser import Parser, near
from mtd.refusals import CannotDo
from transports.faults import plans
from transports.faults.plans import Fault

T = TypeVar("T")
LIBRARIES = (*OURS, str(Path(os.__file__).parent) + os.sep, "<")


def play(path: str, arguments: Sequence[str] = (), *, is_known: bool = False) -> None:
    """Run the script as `__main__`, with a namespace of its own. sys.exit(0) is its end, any other
    exit an error. `is_known`: whether `import __main__` finds it, as pickles do."""
    given = world.place().given
    if "rank" in given and "environment" not in given:
        given["environment"] = rank_environment.of_torchrun(given["rank"], given["world_size"])
    file = Path(path)
    code = _torchs_code(file) if is_known else compile(file.read_bytes(), str(file), "exec")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.argv = [path, *arguments]
    main = ModuleType("__main__")
    vars(main).update(__file__=str(file), __builtins__=__builtins__)
    if is_known:
        sys.modules["__main__"] = main
    try:
        exec(code, vars(main))
    except SystemExit as end:
        if end.code not in (None, 0):
            raise RuntimeError(f"{path} ended with sys.exit({end.code!r})") from end


def _torchs_code(file: Path) -> CodeType:
    """Of a script for PyTorch, which may be folded by what it does with its rank."""
    from minitorch_dist.pytorch import rank_reads

    return rank_reads.compiled(file.read_bytes(), str(file))


def play_torchs(path: str, arguments: Sequence[str], port: int, wire: str) -> None:
    """The same in a process that is a rank, for a script that imports PyTorch: its groups are ours, whatever it calls them."""
    from minitorch_dist.pytorch import any_backend

    os.environ.update(MASTER_PORT=str(port), MTD_TRANSPORT=wire)
    any_backend.take_all_names()
    play(path, arguments, is_known=True)


def program(path: str, arguments: Sequence[str] = ()) -> partial[None]:
    """The script as a function for `sim.run`, which asks it whether the script is written for PyTorch itself."""
    is_torchs = imports_torch(Path(path), set())
    made = partial(play, path, arguments, is_known=is_torchs)  # its ranks have modules of their own
    made.__name__ = path  # type: ignore[attr-defined]
    made.uses_torch = is_torchs  # type: ignore[attr-defined]
    return made


@contextmanager
def environment_of_ranks(path: str, folds: bool = False) -> Iterator[None]:
    """Ranks that are threads of this process find RANK and its like in os.environ, as under torchrun."""
    if imports_torch(Path(path), set()):  # whose ranks have it in any run
        yield
        return
    with RankEnvironment(_refuse if folds else lambda key: None).in_place():
        yield


def _refuse(key: Any) -> None:
    """One rank runs for others here, and nobody sees what a text is compared with."""
    name = os.environ.decodekey(key)
    if name in ("RANK", "LOCAL_RANK", "ROLE_RANK") and "rank" in world.place().given:
        raise CannotDo(f"with --fold a script asks dist.get_rank(), and not os.environ for {name}")


def imports_torch(file: Path, seen: set[Path]) -> bool:
    """Whether a script imports the real torch or a package that is built on it, or a file beside it does which the script
    imports."""
    seen.add(file)
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    names = [name for node in ast.walk(tree) for name in _imported(node)]
    if any(needs_torch(name) for name in names):
        return True
    beside = {file.parent / end for name in names for end in _files_of(name)} - seen
    return any(imports_torch(each, seen) for each in sorted(beside) if each.is_file())


def _files_of(module: str) -> tuple[str, str]:
    path = module.replace(".", "/")
    return f"{path}.py", f"{path}/__init__.py"


def _imported(node: ast.AST) -> list[str]:
    """The modules that an import names. A name that is taken out of one may be a module, too."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    return []


def check(path: str) -> None:
    """FileNotFoundError where there is no such script."""
    file = Path(path)
    if file.is_dir():
        raise FileNotFoundError(f"{path!r} is a folder, not a script")
    if not file.is_file():
        beside = sorted(f"{one}" for one in file.parent.glob("*.py"))
        raise FileNotFoundError(f"there is no script {path!r}{near(path, beside)} in {Path.cwd()}")


def add_script(parser: Parser) -> None:
    parser.takes("""
        script        the file that every rank runs as __main__
        arguments...  what the script finds in sys.argv
    """)
    ours = {name for action in parser._actions for name in action.option_strings}
    parser.set_defaults(ours=frozenset(ours - {"-h", "--help"}))


def warn_of_strays(arguments: Namespace) -> None:
    """Arguments after the script are the script's, as with torchrun. Say so where one looks like ours."""
    strays = [word for word in arguments.arguments if word.partition("=")[0] in arguments.ours]
    if strays:
        print(
            f"mtd {arguments.command}: {', '.join(strays)} stands behind the script and so is the script's. "
            f"If it is meant for mtd, write: mtd {arguments.command} {strays[0]} … {arguments.script}",
            file=sys.stderr,
        )


def faults_of(text: str | None) -> list[Fault]:
    """The faults of a file with one in each line, or of a text such as "drop=0.01;clog=2,in"."""
    if not text:
        return []
    file = Path(text)
    written = file.read_text(encoding="utf-8") if file.is_file() else text.replace(";", "\n")
    return plans.parse_all(written)


def attempted(call: Callable[[], T]) -> T | None:
    """The result of a run; None where it failed, which is said then."""
    try:
        return call()
    except Exception as error:
        print(shown(error), file=sys.stderr)
        return None


def shown(error: BaseException) -> str:
    """An error as a user reads it: where it was raised, what it says, once, and its notes."""
    notes = [*getattr(error, "__notes__", ())]
    trace, place = error.__traceback__, _place_in(notes)
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if trace.tb_frame.f_globals.get("__name__") == "__main__" and file != __file__:
            place = f", at {Path(file).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    notes += _next_step(error)
    notes = [note.partition("\nTraceback (")[0] for note in notes]
    return "\n".join([f"{type(error).__name__}{place}: {error}", *notes])


def _next_step(error: BaseException) -> list[str]:
    """How to get a module that the script imports, and that is not installed."""
    if not isinstance(error, ModuleNotFoundError):
        return []
    missing = str(error).partition("'")[2].partition("'")[0]
    if missing.partition(".")[0] == "torch":
        return [
            "the script imports PyTorch, which is not installed here. To run it on this library's tensors, write "
            "`import minitorch_dist as torch`, and in its other imports `minitorch_dist` for `torch`. To run it "
            f"on PyTorch: {sys.executable} -m pip install torch"
        ]
    return [f"is it installed here? {sys.executable} -m pip list shows what is"] if missing else []


def _place_in(notes: Sequence[str]) -> str:
    """The script's own line in a traceback that came from another process."""
    found = ""
    for note in notes:
        for file, line in re.findall(r'^  File "([^"]+)", line (\d+)', note, re.MULTILINE):
            if not file.startswith(LIBRARIES) and "site-packages" not in file:
                found = f", at {Path(file).name}:{line}"
    return found
