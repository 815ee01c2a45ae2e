"""`mtd lab`: a schedule is proved, drawn, costed and ranked; what is wrong is said before minutes are spent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from minitorch_dist.distributed.schedules import choice
from minitorch_dist.distributed.schedules.schedule import GALLERY
from mtd.cli import main
from mtd.laboratory import cases, claims, racing
from mtd.refusals import CannotDo

STEPS = "from minitorch_dist.distributed.schedules.steps import Exchange\n"
RING = """
def all_reduce(rank, size):
    left, right = (rank - 1) % size, (rank + 1) % size
    for step in range({rounds}):
        yield Exchange(left, (rank + step + 1) % size, right, (rank + step + 2) % size, reduce=True)
    for step in range({rounds}):
        yield Exchange(left, (rank + step) % size, right, (rank + step + 1) % size)
"""
IN_OTHER_ORDERS = """
from minitorch_dist.distributed.schedules.gallery.swing import partner
from minitorch_dist.distributed.schedules.schedule import powers_of_two
import minitorch_dist.distributed as dist

@dist.register_schedule("all_reduce", "swaps", lambda size: 1, domain=powers_of_two)
def swaps(rank, size):
    for step in range((size - 1).bit_length()):
        peer = partner(rank, size, step)
        yield Exchange(peer, 0, peer, 0, reduce=True)
"""
QUICK = ["--ranks", "8", "--network", "cluster", "--size", "64KB"]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(STEPS + RING.format(rounds="size - 1"))
    return path


@pytest.mark.slow
def test_all_in_one_go(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "mine.py", "--ranks", "8,12", "--size", "1KB", "--size", "1MB"]) == 0
    said = capsys.readouterr().out
    assert "mine all_reduce: made for any number" in said
    assert "16, 17, 32 and 64\nranks: each contribution once" in said
    assert "rank 0  a a a" in said and "8 ranks: 8 chunks, 14 rounds, 112 messages" in said
    for network in cases.NETWORKS:
        assert re.search(rf"{network} +12 +1MB", said), network
    assert re.search(r"circulant +0\.\d\d", said)
    assert max(map(len, said.split("\n"))) <= 80


def test_what_is_done_is_kept(mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    raced: list[str] = []
    race = racing.race

    def watched(schedule: object, case: cases.Case) -> list[racing.RaceEntry]:
        if len(raced) == 2:
            raced.append("interrupted")
            raise KeyboardInterrupt
        raced.append(case.size)
        return race(schedule, case)  # type: ignore[arg-type]

    monkeypatch.setattr(racing, "race", watched)
    given = ["lab", "mine.py", *QUICK, "--size", "1KB", "--size", "1MB"]
    assert main(given) == 130
    assert "interrupted; what is done is in .mtd-lab.json" in capsys.readouterr().err
    assert main(given) == 0
    assert raced == ["64KB", "1KB", "interrupted", "1MB"]
    mine.write_text(mine.read_text() + "# changed\n")
    assert main(["lab", "mine.py", *QUICK]) == 0 and raced[-1] == "64KB"
    Path(".mtd-lab.json").write_text('{"format": "minitorch_dist lab 1, ')
    assert main(["lab", "mine.py", *QUICK]) == 2
    assert "is damaged" in capsys.readouterr().err
    Path(".mtd-lab.json").write_text("diary")
    assert main(["lab", "mine.py", *QUICK]) == 2
    assert Path(".mtd-lab.json").read_text() == "diary"


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (RING.format(rounds="min(size - 1, 31)"), [], "wrong with 64 ranks: element 0 on rank 0 lacks"),
        (RING.format(rounds="size"), [], "is wrong with 1 rank: rank 0 has to deal with itself"),
        (RING.format(rounds="size - 1"), ["--ranks", "1"], "at least 2 ranks"),
        (RING.format(rounds="size - 1"), ["--network", "nope"], "no network is called 'nope'"),
        (RING.format(rounds="size - 1"), ["--size", "large"], "'large' is not a quantity"),
        (RING.format(rounds="size - 1"), ["--collective", "broadcast"], "no algorithm of broadcast"),
        (RING.format(rounds="size - 1"), ["--paper", "none.csv"], "none.csv: No such file"),
        (IN_OTHER_ORDERS, ["--ranks", "12"], "made for powers of two, and not for 12 ranks"),
        ("x = 1", [], "mine.py has no schedule"),
        ("x =", [], "mine.py:2: SyntaxError"),
    ],
)
def test_what_is_wrong_is_said(
    mine: Path, capsys: pytest.CaptureFixture[str], text: str, words: list[str], said: str
) -> None:
    mine.write_text(STEPS + text)
    assert main(["lab", "mine.py", *words]) == 2
    shown = capsys.readouterr()
    assert said in " ".join(shown.err.split()) and not shown.out


def test_orders_of_addition_that_differ_are_told(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine.write_text(STEPS + IN_OTHER_ORDERS)
    assert main(["lab", "mine.py", *QUICK]) == 0
    assert "With 8 ranks some add in another order than others" in capsys.readouterr().out
    for (collective, _), schedule in GALLERY.items():
        assert collective != "all_reduce" or racing.other_bits(schedule) is None, schedule


def test_it_is_data_for_programs(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "mine.py", *QUICK, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (case,) = found["cases"]
    times = {one["algorithm"]: one["time"] for one in case["algorithms"]}
    assert times["mine"] == times["ring"] > times["circulant"] > case["algorithms"][0]["bound"]


# ----------------------------------------------------------------------------------- papers


def test_a_papers_table_stands_beside(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("paper.csv").write_text(
        'algorithm,ranks,bytes,rounds,sent,source\nmine,8,64KB,14,2*n*(p-1)/p,"Table 1"\nmine,16,,2*lg(p),,\nother,3,,1,,\n'
    )
    assert main(["lab", "mine.py", *QUICK, "--paper", "paper.csv"]) == 0
    said = capsys.readouterr().out
    assert "Table 1" in said and "2 of 3 numbers of the paper are what we count" in said
    assert "paper.csv:3: rounds with 16 ranks is 8 there, and 30 here" in said


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("algorithm,speed\nmine,3", r"there is no column 'speed'; there are algorithm"),
        ("algorithm,rounds\nmine,__import__('os')", r"csv:2: rounds is .* no number or formula"),
        ("algorithm,rounds\nmine,9**9**9**9", r"csv:2: rounds is "),
        ("algorithm,rounds\nmine,lg(", r"csv:2: rounds is "),
        ("algorithm,rounds\nmine,p/0", r"csv:2: rounds is "),
        ("algorithm,rounds\nmine," + "1+" * 300 + "1", r"csv:2: rounds is .*letters"),
    ],
)
def test_a_wrong_table_says_where(tmp_path: Path, table: str, said: str) -> None:
    path = tmp_path / "paper.csv"
    path.write_text(table)
    ring = choice.named("all_reduce", "ring").with_options()
    with pytest.raises(CannotDo, match=said):
        mine = claims.read(path)
        list(
            claims.compare(
                [claims.PaperClaim(one.place, {**one.cells, "algorithm": "ring"}) for one in mine], ring, [4]
            )
        )


CLAIMS = claims.read(claims.OF_THE_GALLERY)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda one: one.place)
def test_the_gallery_costs_what_its_papers_say(claim: claims.PaperClaim) -> None:
    schedule = choice.known(claim.cells["collective"])[claim.cells["algorithm"]]
    ranks = [size for size in (*range(2, 18), 32, 64) if schedule.serves(size)]
    found = list(claims.compare([claim], schedule, ranks))
    assert found and all(one.agrees for one in found), [one for one in found if not one.agrees]


def test_the_page_has_what_the_papers_say() -> None:
    """Each line of the table in the page is a claim that the test above counts."""
    page = (Path(__file__).parents[2] / "docs" / "collectives.md").read_text("utf-8")
    for claim in CLAIMS:
        cells = claim.cells
        domain = GALLERY.get((cells["collective"], cells["algorithm"]))
        said = domain.domain_in_words if domain else "any number"
        where = f"{cells['ranks']} ranks" if cells["ranks"] else said
        row = f"| {cells['algorithm']} | {cells['collective']} | {where} | {cells['rounds']} | {cells['messages']} | {cells['sent'] or '–'} | {cells['source']} |"
        assert row in page, row
