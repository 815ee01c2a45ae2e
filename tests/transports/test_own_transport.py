"""The package of docs/transports.md, installed as it stands into an environment of its own, found, checked, and taken by commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "transports.md"
TRAIN = """
import minitorch_dist as torch, minitorch_dist.distributed as dist
dist.init_process_group()
x = torch.ones(2)
dist.all_reduce(x)
print(x.tolist())
"""


def run(python: Path | str, *arguments: str | Path, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, *arguments],
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
        env=environment | {"OMP_NUM_THREADS": "1", "XDG_STATE_HOME": str(folder / "state")},
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fresh_environment(folder: Path) -> Path:
    """A Python with what is installed here, this library, and nothing else. It has no index to look at."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", folder=folder)
    (packages,) = (folder / "venv").glob("lib/python3*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "here.pth").write_text("\n".join([*here, str(ROOT)]) + "\n")
    return folder / "venv" / "bin" / "python"


def test_the_page_is_right(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name, text in re.findall(r"```\w+\n# (\w+\.(?:py|toml))\n(.*?)```", PAGE.read_text(), re.S):
        (source / name).write_text(text)
    assert {"spool.py", "check.py", "pyproject.toml"} <= {path.name for path in source.iterdir()}
    check = (source / "check.py").rename(tmp_path / "check.py")
    python = fresh_environment(tmp_path)
    run(
        python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--disable-pip-version-check", source, folder=tmp_path,
    )  # fmt: skip
    known = run(python, "-c", "from transports import registry; print(registry.known())", folder=tmp_path)
    assert "spool" in known and "tcp" in known
    assert run(python, check, folder=tmp_path) == "[3.0, 3.0, 3.0]\n"

    address, script = f"spool://{tmp_path}/messages", tmp_path / "train.py"
    script.write_text(TRAIN)
    commands: list[list[str | Path]] = [
        ["-m", "minitorch_dist.distributed.run", "--nproc-per-node", "2", "--net", address, script],
        ["-m", "mtd", "run", "--ranks", "2", "--net", address, script],
    ]
    for command in commands:
        assert run(python, *command, folder=tmp_path).count("[2.0, 2.0]") == 2, command
    calibrated = run(python, "-m", "mtd", "calibrate", address, "--rounds", "3", "--out", "links.json", folder=tmp_path)
    assert "links.json" in calibrated
    said = run(
        python, "-m", "mtd", "bench", "comm", "--net", address, "--only", "send_recv", "--sizes", "1KB",
        "--against", "none", "--rounds", "1", folder=tmp_path,
    )  # fmt: skip
    assert "send_recv" in said
