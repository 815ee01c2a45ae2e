"""Files are written, replaced and deleted through the keeper. The places that do it themselves are named here, with why.

A new place is forbidden until it is named, as an import between floors is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEEDS = {
    "unlink", "rmtree", "rmdir", "removedirs", "remove_tree", "rename", "renames", "ftruncate", "truncate", "mkdtemp",
    "mkstemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "SpooledTemporaryFile", "write_text",
    "write_bytes", "touch", "symlink_to", "hardlink_to", "symlink", "link", "copyfile", "copytree", "copy2", "move",
    "tofile", "savez", "memmap", "mknod", "mkfifo",
}  # fmt: skip
OF_OS = {"open", "remove", "replace", "creat", "posix_fallocate", "memfd_create"}

OWN = "in a folder of the keeper's, which goes with the process"
HOUSE = "made from the lessons, in the project's own checkout"
DRAWN = "a file or folder that did not exist before"
ALLOWED: dict[str, tuple[set[str], str]] = {
    "transports/conformance/launchers.py": ({"TemporaryDirectory"}, DRAWN),
    "transports/keys.py": ({"link"}, "puts a draft in place, but never over another key"),
    "transports/shared_file/logs.py": (
        {"ftruncate", "unlink"},
        "segments in a folder that was signed; its reader removes or empties them",
    ),
    "transports/shared_file/rings.py": ({"ftruncate", "posix_fallocate"}, "makes the signed file larger"),
    "transports/stores/file.py": ({"ftruncate"}, "of a file that is proved to be a store's"),
    "minitorch_dist/distributed/journal/files.py": ({"ftruncate"}, "of a file that is proved to be a journal"),
    "minitorch_dist/distributed/elastic/multiprocessing/entry.py": (
        {"open w", "replace"},
        "in its agent's folder; it imports nothing of ours",
    ),
    "minitorch_dist/distributed/elastic/multiprocessing/logs.py": (
        {"mkdtemp"},
        "logs that were asked for, in a folder that did not exist before",
    ),
    "mtd/course/examination.py": ({"open w+", "open w+b", "touch"}, OWN),
    "mtd/course/candidate.py": ({"open a"}, OWN),
    "mtd/course/judging.py": ({"write_text"}, OWN),
    "mtd/course/museum.py": ({"write_text"}, OWN),
    "mtd/cli/lessons/bridge.py": ({"write_text"}, OWN),
    "mtd/cli/bench/rpc_pipeline.py": ({"write_text"}, OWN),
    "mtd/cli/bench/worlds.py": ({"mkfifo", "open"}, OWN),
    "mtd/cli/bench/worker.py": ({"open w"}, OWN),
    "mtd/cli/dev.py": ({"unlink"}, HOUSE),
    "mtd/course/building.py": ({"write_text"}, HOUSE),
    "mtd/course/worlds.py": ({"write_text"}, OWN),
    "mtd/course/assembling.py": ({"unlink"}, "modules in a folder that has the mark of mtd assemble"),
    "mtd/course/progress.py": ({"replace"}, "a damaged file moves to a name that is free"),
    "minitorch_dist/serialization/files.py": ({"open"}, "a pipe or a device that the caller names"),
    "mtd/planning/plan_cache.py": ({"unlink"}, "its own file, when all that was asked for is there"),
    "mtd/pages/whole_files.py": ({"write_bytes"}, "a draft of the keeper's, or a device that the user names"),
    "minitorch_dist/distributed/checkpoint/writing.py": (
        {"unlink"},
        "its own file, which it holds, of a save that has failed",
    ),
    "mtd/cli/doctor.py": ({"NamedTemporaryFile"}, DRAWN),
    "mtd/cli/__init__.py": ({"open"}, "/dev/null"),
}


def deeds(path: Path) -> Iterator[tuple[str, int]]:
    """The calls in a module that write, replace or delete a file, by name and line."""
    for call in ast.walk(ast.parse(path.read_bytes())):
        if not isinstance(call, ast.Call):
            continue
        match call.func:
            case ast.Attribute(value=owner, attr=name):
                is_os = isinstance(owner, ast.Name) and owner.id == "os"
            case ast.Name(id=name):
                is_os, owner = False, None
            case _:
                continue
        is_keepers = isinstance(owner, ast.Name) and owner.id == "keeper"
        if (name in DEEDS and not is_keepers) or (is_os and name in OF_OS):
            if name in ("truncate", "link", "move") and not is_os and not _is_module(owner):
                continue  # of a text, a schedule
            yield name, call.lineno
        elif name == "replace" and owner is not None and len(call.args) == 1 and not call.keywords:
            yield name, call.lineno  # a text's takes two
        elif name == "open":
            modes = [
                one.value
                for one in (*call.args, *[word.value for word in call.keywords])
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            for mode in modes:
                if set(mode) <= set("rwaxbt+") and set(mode) & set("wax+"):
                    yield f"open {mode}", call.lineno


def _is_module(owner: ast.expr | None) -> bool:
    return isinstance(owner, ast.Name) and owner.id in ("os", "shutil", "np")


def test_no_place_writes_or_deletes_files_past_the_keeper_that_is_not_named_here() -> None:
    found: dict[str, set[str]] = {}
    wrong = []
    for top in ("minitorch_dist", "transports", "mtd"):
        for path in sorted((ROOT / top).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith("transports/keeper/"):
                continue
            for deed, line in deeds(path):
                found.setdefault(name, set()).add(deed)
                if deed not in ALLOWED.get(name, (set(), ""))[0]:
                    wrong.append(f"{name}:{line}: {deed}")
    assert wrong == []
    unneeded = {name: may - found.get(name, set()) for name, (may, _) in ALLOWED.items()}
    assert {name: rest for name, rest in unneeded.items() if rest} == {}


def test_what_is_looked_for_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "import os, shutil\nfrom pathlib import Path\np = Path('x')\np.unlink()\nshutil.rmtree(p)\nos.replace(p, p)\n"
        "p.replace(p)\nos.ftruncate(3, 0)\np.write_text('')\nopen(p, 'w')\np.open(mode='ab')\nos.open(p, os.O_TRUNC)\n"
        "'a'.replace('a', 'b')\nopen(p)\np.open('rb')\nkeeper.remove(p)\nkeeper.sweep(p)\n"
    )
    assert [line for _, line in sorted(deeds(path), key=lambda one: one[1])] == [*range(4, 13)]
