"""MSCCL's XML: what we write is read as the same schedule, theirs are proved, and hostile documents are refused by line."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import BUILT_IN, ScheduleError, choice, gallery, proof
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.schedule import GALLERY, Schedule
from mtd.cli import main
from mtd.laboratory import msccl

assert gallery
EVERY = [one for one in (*BUILT_IN.values(), *GALLERY.values()) if one.collective in msccl.COLLECTIVES.values()]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "theirs.xml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("schedule", EVERY, ids=str)
def test_there_and_back(schedule: Schedule, tmp_path: Path) -> None:
    for size in filter(schedule.serves, (1, 2, 3, 5, 8)):
        back = msccl.read(written(tmp_path, msccl.write(schedule, size)))
        proof.prove(back, size)
        assert back.domain_in_words == f"{size} GPUs" and not back.serves(size + 1)
        nbytes = 64 * size * size
        assert cost(back, size, nbytes).max_sent == cost(schedule, size, nbytes).max_sent


def all_pairs(gpus: int) -> str:
    """As MSCCL's examples have it: each GPU sends all it has to all others, and adds what came into scratch."""
    lines = [
        f'<algo name="pairs" nchunksperloop="1" nchannels="1" proto="LL" ngpus="{gpus}" inplace="1" coll="allreduce">'
    ]
    for i in range(gpus):
        lines.append(f'<gpu id="{i}" i_chunks="1" o_chunks="1" s_chunks="{gpus}">')
        for block, j in enumerate(other for other in range(gpus) if other != i):
            lines.append(f'<tb id="{block}" send="{j}" recv="{j}" chan="0">')
            lines.append(
                f'<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="{i}" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
            )
            lines.append(
                f'<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="{j}" cnt="1" depid="-1" deps="-1" hasdep="1"/>'
            )
            if block == 0:
                lines += [
                    f'<step s="{2 + n}" type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="{n + 1}" deps="1" hasdep="0"/>'
                    for n in range(gpus - 2)
                ]
                lines += [
                    f'<step s="{gpus + n}" type="re" srcbuf="s" srcoff="{k}" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
                    for n, k in enumerate(k for k in range(gpus) if k != i)
                ]
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>"])


@pytest.mark.parametrize("gpus", [2, 3, 5, 8])
def test_theirs_runs(gpus: int, tmp_path: Path) -> None:
    path = written(tmp_path, all_pairs(gpus))
    proof.prove(msccl.read(path), gpus)

    def summed() -> list[float]:
        x = torch.ones(3) * 2.0 ** dist.get_rank()
        dist.all_reduce(x, algorithm=str(path))
        return x.tolist()  # type: ignore[no-any-return]

    assert sim.run(summed, gpus).results == [[2.0**gpus - 1] * 3] * gpus
    with pytest.raises(ScheduleError, match=f"made for {gpus} GPUs, and not for 4 ranks"):
        choice.choose("all_reduce", 4, 64, algorithm=str(path))


def test_fused_steps_send_on(tmp_path: Path) -> None:
    """The receiver adds and sends on in one step."""
    text = (
        '<algo name="two" nchunksperloop="1" ngpus="2" inplace="1" coll="allreduce">'
        '<gpu id="0"><tb id="0" send="1" recv="1" chan="0">'
        '<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0"/>'
        '<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0"/></tb></gpu>'
        '<gpu id="1"><tb id="0" send="0" recv="0" chan="0">'
        '<step s="0" type="rrcs" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0"/></tb></gpu></algo>'
    )
    proof.prove(msccl.read(written(tmp_path, text)), 2)


RIGHT = all_pairs(3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is no XML: no element found"),
        ("algo", "it is no XML: syntax error: line 1"),
        (RIGHT[:-20], "it is no XML: "),
        (RIGHT.replace("<gpu", "<cpu", 1), "line 2: no <cpu> is expected here"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]>" + RIGHT, "line 1: it has a DOCTYPE"),
        ("<!DOCTYPE a SYSTEM 'file:///etc/passwd'>" + RIGHT, "line 1: it has a DOCTYPE"),
        (RIGHT.replace('ngpus="3"', 'ngpus="4"'), "line 1: 3 of 4 GPUs have a <gpu> of their own"),
        (
            RIGHT.replace('ngpus="3"', 'ngpus="999999999"'),
            "line 1: ngpus of <algo> is '999999999', and should be a number from 1 to 256",
        ),
        (RIGHT.replace('ngpus="3"', ""), "line 1: ngpus of <algo> is None"),
        (
            RIGHT.replace('coll="allreduce"', 'coll="custom"'),
            "line 1: coll of <algo> is 'custom'; it should be one of allreduce",
        ),
        (RIGHT.replace('type="s"', 'type="put"', 1), "line 4: type of <step> is 'put'"),
        (RIGHT.replace('srcoff="0"', 'srcoff="-3"', 1), "line 4: srcoff of <step> is '-3'"),
        (RIGHT.replace('cnt="1"', 'cnt="99999999"', 1), "line 4: cnt of <step>"),
        (RIGHT.replace('send="1"', 'send="-1"', 1), "line 4: its block has send=-1"),
        (RIGHT.replace('recv="0"', 'recv="2"', 1), "GPU 0 sends to GPU 1, which has no block with recv=0"),
        (
            RIGHT.replace('depid="1" deps="1"', 'depid="1" deps="9"', 1),
            "it waits for step 9 of block 1, which is not there",
        ),
        (RIGHT.replace('depid="1" deps="1"', 'depid="7" deps="1"', 1), "depid of <step> is '7'"),
        (RIGHT.replace('tb id="1"', 'tb id="0"', 1), "only 1 of its 2 blocks have an id of their own"),
        (
            RIGHT.replace('type="re" srcbuf="s" srcoff="1"', 'type="re" srcbuf="s" srcoff="6"', 1),
            "takes from s[6], which was never filled",
        ),
        (RIGHT.replace('type="s"', 'type="r"', 1), "it stands still: block"),
        ('<?xml version="1.0" encoding="none"?>' + RIGHT, "it is no XML"),
    ],
)
def test_hostile_documents_are_refused_by_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError) as caught:
        msccl.read(written(tmp_path, text))
    assert said in str(caught.value) and str(caught.value).startswith("theirs.xml: ")


def test_bent_documents_end_in_one_error(tmp_path: Path) -> None:
    """Any letter changed: it is read, or refused by ScheduleError."""
    draw, raw = np.random.default_rng(0), bytearray(all_pairs(2).encode())
    for _ in range(300):
        bent = bytearray(raw)
        for _ in range(int(draw.integers(1, 4))):
            bent[int(draw.integers(len(bent)))] = int(draw.integers(256))
        (tmp_path / "bent.xml").write_bytes(bent)
        try:
            found = msccl.read(tmp_path / "bent.xml")
            proof.examine(found, 2)
        except ScheduleError:
            pass


def test_what_is_wrong_in_the_algorithm_is_found_by_the_proof(tmp_path: Path) -> None:
    text = all_pairs(3).replace('type="re" srcbuf="s" srcoff="2"', 'type="re" srcbuf="s" srcoff="1"', 1)
    with pytest.raises(ScheduleError, match="has rank 1 twice and lacks rank 2"):
        proof.prove(msccl.read(written(tmp_path, text)), 3)


def test_commands_read_and_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["lab", "swing", "--collective", "all_reduce", "--ranks", "8", "--network", "cluster", "--size", "64KB"]
    assert main([*given, "--export", "swing.xml"]) == 0
    assert "wrote swing.xml, for 8 GPUs" in capsys.readouterr().out
    assert main(["lab", "swing.xml", "--network", "cluster", "--size", "64KB"]) == 0
    said = capsys.readouterr().out
    assert "swing all_reduce: made for 8 GPUs" in said and "Proved for 8 ranks" in said
    assert main(["simulate", "all_reduce", "--ranks", "8", "--algorithm", "swing.xml"]) == 0
    assert main(["contest", "swing.xml", "--ranks", "8", "--network", "cluster"]) == 0
    assert main(["lab", "bine", "--ranks", "8", "--network", "cluster", "--size", "1KB", "--export", "x.xml"]) == 2
    assert "MSCCL has no reduce; it has" in capsys.readouterr().err
    assert list(itertools.islice(Path().glob("x.xml"), 1)) == []
