"""Loading a checkpoint runs nothing, whatever stands in its index and in the environment."""

from __future__ import annotations

import base64
import json
import os
from collections import namedtuple
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import checkpoint as dcp, codec
from minitorch_dist.distributed.checkpoint import CheckpointException
from minitorch_dist.distributed.codec import trust

Pair = namedtuple("Pair", "a b")
ran: list[str] = []


class Bomb:
    def __reduce__(self) -> Any:
        return ran.append, ("a pickle",)


def plainly(path: Path) -> None:
    dcp.load({"x": mtd.zeros(2), "n": 0}, checkpoint_id=path)


@pytest.fixture(params=["0", "1", None])
def environment(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param is None:
        monkeypatch.delenv(trust.VARIABLE, raising=False)
    else:
        monkeypatch.setenv(trust.VARIABLE, request.param)
    ran.clear()


@pytest.mark.parametrize("value", [Bomb(), [1, {"deep": (Bomb(),)}], os.getcwd, ValueError(Bomb())])
@pytest.mark.usefixtures("environment")
def test_a_pickle_or_a_name_in_the_index(value: Any, tmp_path: Path) -> None:
    dcp.save({"x": mtd.ones(2), "n": 1}, checkpoint_id=tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())
    octets = codec.pack(value, trust.Trust.FULL)
    index["values"]["n"] = {"packed": base64.b64encode(octets).decode()}
    (tmp_path / "index.json").write_text(json.dumps(index))
    ran.clear()
    with pytest.raises(CheckpointException, match=r"value n cannot be loaded.*only values are read"):
        plainly(tmp_path)
    assert not ran


@pytest.mark.parametrize("value", [Bomb(), Pair(1, 2), os.getcwd, object(), [1, [Bomb()]]])
@pytest.mark.usefixtures("environment")
def test_what_would_be_pickled_is_refused_when_it_is_saved(value: Any, tmp_path: Path) -> None:
    with pytest.raises((codec.Unsendable, TypeError), match=r"n|obj"):
        dcp.save({"deep": {"n": (value, 2)}}, checkpoint_id=tmp_path)
    assert not ran and not (tmp_path / "index.json").exists()


def test_the_refusal_says_where_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(codec.Unsendable) as caught:
        dcp.save({"optimizer": {"n": (1, [Bomb()])}}, checkpoint_id=tmp_path)
    assert str(caught.value).startswith("optimizer.n[1][0] cannot be saved: a tests.")
    assert "Save vars(optimizer.n[1][0]) or a dict " in str(caught.value)


def test_values_come_back(tmp_path: Path) -> None:
    state = {"n": (1, 2.5), "t": timedelta(1), "p": (mtd.nn.Parameter(mtd.ones(2)),), "i": 10**5000}
    dcp.save(state, checkpoint_id=tmp_path)
    found: dict[str, Any] = dict.fromkeys(state)
    dcp.load(found, checkpoint_id=tmp_path)
    assert (found["n"], found["t"], found["i"]) == (state["n"], state["t"], state["i"])
    assert type(found["p"][0]) is mtd.nn.Parameter and mtd.equal(found["p"][0], mtd.ones(2))


@pytest.mark.parametrize(
    "value",
    [
        {"packed": "!"},
        {"packed": ""},
        {"packed": 3},
        {"saved": "AAAA"},
        {"saved": []},
        [],
        {},
        {"packed": "", "saved": ""},
        {"other": "x"},
    ],
)
def test_a_value_that_is_none(value: Any, tmp_path: Path) -> None:
    dcp.save({"x": mtd.ones(2), "n": 1}, checkpoint_id=tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())
    index["values"]["n"] = value
    (tmp_path / "index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointException, match="value n cannot be loaded"):
        plainly(tmp_path)
