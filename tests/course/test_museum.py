"""The museum: every exhibit has its address, can be looked at, found, and told from what is right."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from mtd import cli
from mtd.course import lesson, museum, properties
from mtd.course.museum import NoExhibit

EXHIBITS = museum.exhibits()
HANG = museum.exhibit("sglang_33289")


def test_every_exhibit_has_a_story_an_address_and_a_name_of_its_own() -> None:
    assert len(EXHIBITS) >= 25
    assert len({one.name for one in EXHIBITS}) == len(EXHIBITS)
    for one in EXHIBITS:
        assert one.title and one.caught_by and one.seen
        assert all(address.startswith("https://") for address in one.seen)
        assert "Caught by:" not in one.text and "the bug" not in one.text
        compile(one.text, one.name, "exec")
        assert one.text != one.right


def test_names() -> None:
    assert museum.exhibit("hangs/sglang_33289") is HANG
    with pytest.raises(NoExhibit, match=r"did you mean .*sglang_33289"):
        museum.exhibit("sglang_33298")


def test_the_wrong_lines_are_those_that_differ() -> None:
    right = "def f(x):\n    # a comment\n    y = x + 1\n    send(y)\n    return y\n"
    assert museum._changed(right, right.replace("    # a comment\n", "")) == set()
    assert museum._changed(right, right.replace("+ 1", "- 1")) == {3}
    assert museum._changed(right, right.replace("    send(y)\n", "")) == {3, 4}
    another = right.replace("def f(x):", "\n".join(f"z{n} = {n}" for n in range(9)))
    assert museum._changed(right, another.replace("    send(y)\n", "")) == set(range(1, 10))


@pytest.mark.parametrize("short", ["sglang_33289", "tutorial_of_2019"])
def test_a_look_shows_what_happened(short: str) -> None:
    seen = museum.run_exhibit(museum.exhibit(short))
    assert seen.said and seen.scene is not None and seen.scene.arrows
    bare = museum.anonymous(seen.scene)
    assert ".py:" in str(seen.scene.moments) and ".py:" not in str(bare.moments) + str(bare.arrows)
    assert ".py:" not in museum.without_names(seen.said)


def test_a_quiz_asks_for_one_of_four_causes() -> None:
    answers = set()
    for seed in range(30):
        quiz = museum.quiz(HANG, seed)
        assert len(quiz.choices) == 4 and len({each.title for each in quiz.choices}) == 4
        assert quiz.choices[quiz.answer] is HANG
        answers.add(quiz.answer)
    assert answers == {0, 1, 2, 3}


def answered(monkeypatch: pytest.MonkeyPatch, lines: str, *arguments: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    return cli.main(["museum", *arguments])


def test_find_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right = "abcd"[museum.quiz(HANG, 5).answer]
    wrong = "abcd".replace(right, "")[0]
    find = ("hangs/sglang_33289", "--find", "--seed", "5")
    assert answered(monkeypatch, f"z\n{right}\n", *find) == 0
    said = capsys.readouterr().out
    before, _, after = said.partition("Right.")
    assert "or q to give up" in before and ".py:" not in before and "sglang" not in before
    assert "The cause: A rank decides by itself" in after and HANG.seen[0] in after
    assert answered(monkeypatch, f"{wrong}\n", *find) == 1
    assert answered(monkeypatch, "s\n24\n", *find) == 0
    assert answered(monkeypatch, "s\n20\n", *find) == 1
    assert answered(monkeypatch, "", *find) == 1
    assert "Given up." in capsys.readouterr().out


def test_the_rooms_and_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["museum"]) == 0
    said = capsys.readouterr().out
    assert all(one.name in said for one in EXHIBITS)
    assert cli.main(["museum", "pytorch_90339"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"  21 > .*assert", said) and "https://github.com/pytorch/pytorch" in said
    assert cli.main(["museum", "nothing"]) == 2


def test_write_the_property(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    assert cli.main(["museum", "--property", str(file)]) == 2
    assert cli.main(["museum", "--property", str(file), "--begin"]) == 0
    assert cli.main(["museum", "--property", str(file), "--begin"]) == 2  # it is not written over
    capsys.readouterr()
    assert cli.main(["museum", "--property", str(file)]) == 1
    said = capsys.readouterr().out
    assert "lives: " in said and "0 of 5 right ones accused" in said
    file.write_text("property = 5\n")
    assert cli.main(["museum", "--property", str(file)]) == 2
    file.write_text("import nowhere_at_all\n")
    assert cli.main(["museum", "--property", str(file)]) == 2
    assert "ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.slow
def test_a_good_property_finds_them_all_and_an_unjust_one_is_fined(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(lesson.find(12).source.solution() + "\n\nproperty = property_of_all_reduce\n")
    found = properties.judged(file)
    assert found.alive == [] and found.accused == [] and found.points == len(found.wrong) >= 10
    file.write_text("def property(all_reduce):\n    raise AssertionError('no')\n")
    found = properties.judged(file)
    assert found.points == len(found.wrong) - len(found.right)


def test_a_lessons_room(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["museum", "13"]) == 0
    out = capsys.readouterr().out
    assert "13/tutorial_of_2019" in out and "12/" not in out
    assert cli.main(["museum", "99"]) == 2
    assert "lesson 99 has no exhibit" in capsys.readouterr().err
