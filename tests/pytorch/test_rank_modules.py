"""Each simulated rank has modules of its own, as a process has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minitorch_dist import sim
from mtd.cli import scripts

HELPER = """
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()  # the others import this module meanwhile
rank, calls = dist.get_rank(), 0


class Thing:
    def __init__(self, number):
        self.number = number
"""
SCRIPT = """
from __future__ import annotations

import inspect
import sys
import typing
from dataclasses import dataclass

import helper
import torch.distributed as dist
from package.inner import names


@dataclass
class Found:
    rank: int
    thing: typing.Optional[helper.Thing] = None


helper.calls += 1
names.append(helper.rank)
dist.barrier()
assert (helper.rank, helper.calls, names) == (dist.get_rank(), 1, [dist.get_rank()])
out = [None] * dist.get_world_size()
dist.all_gather_object(out, Found(helper.rank, helper.Thing(helper.rank)))
assert [type(found) for found in out] == [Found] * len(out)
assert [found.thing.number for found in out] == list(range(len(out)))
assert typing.get_type_hints(Found)["rank"] is int
assert inspect.getsource(Found).startswith("@dataclass")
sys.stdout.write(f"{sys.argv[1:]}\\n")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", sys.argv)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "inner.py").write_text("names = []")
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "script.py").write_text(SCRIPT)
    return str(tmp_path / "script.py")


@pytest.mark.parametrize("size", [1, 3, 8])
def test_ranks_import_a_scripts_modules_for_themselves(
    script: str, size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main = sys.modules["__main__"]
    sim.run(scripts.program(script, ["--epochs", "3"]), size)
    assert capsys.readouterr().out == "['--epochs', '3']\n" * size
    assert sys.modules["__main__"] is main
    assert not {"helper", "package", "package.inner"} & sys.modules.keys()
    assert not any(type(finder).__name__ == "RankModules" for finder in sys.meta_path)


@pytest.mark.parametrize("line", ["import torch", "from torch import nn", "import transformers"])
@pytest.mark.parametrize("place", ["script.py", "package/inner.py", "helper.py", "package/__init__.py"])
def test_a_script_is_known_to_be_pytorchs_by_what_it_imports(tmp_path: Path, line: str, place: str) -> None:
    (tmp_path / "package").mkdir()
    files = {
        "script.py": "import helper, package\nfrom package import inner",
        "helper.py": "",
        "package/__init__.py": "",
        "package/inner.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    path = tmp_path / "script.py"
    assert not scripts.imports_torch(path, set())
    (tmp_path / place).write_text(f"{line}\n{files[place]}")
    assert scripts.imports_torch(path, set())
