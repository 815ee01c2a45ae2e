"""The word of a class, and what strangers call themselves."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from mtd.course.classroom import names, words


def test_a_word_is_four_of_256_and_however_typed_the_same_key() -> None:
    assert len(set(words.WORDS)) == 256 and all(word.isalpha() and word.islower() for word in words.WORDS)
    drawn = words.draw()
    assert drawn.count("-") == 3 and not words.unknown(drawn) and words.normal(drawn) == drawn
    assert words.normal("  Maple RIVER,otter_cloud ") == "maple-river-otter-cloud"
    assert words.key("Maple river otter cloud") == words.key("maple-river-otter-cloud")
    assert words.key("maple-river-otter-cloud") != words.key("maple-river-otter-clown")
    assert words.unknown("maple-rivet-otter-cloud") == ["rivet"]


@pytest.mark.parametrize("said", ["", "  ", "---", "!?", "x" * 1000])
def test_no_word(said: str) -> None:
    with pytest.raises(words.WordError, match="projector"):
        words.normal(said)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Ada", "Ada"),
        ("  Ada \n Lovelace ", "Ada Lovelace"),
        ("\x1b[2J\x1b[31mAda", "[2J[31mAda"),
        ("[red]Ada[/red]", "[red]Ada[/red]"),
        ("A\u202eda\u200b\u2066", "Ada"),
        ("Zoë", "Zoë"),
        ("Ma\u0301\u0302\u0303\u0304\u0305lo", "Má\u0302\u0303lo"),
        ("\u0301\u0302", ""),
        ("x" * 5000, "x" * 16),
        ("张伟张伟张伟张伟张伟", "张伟张伟张伟张伟"),
        ("\x00\x07\x9b", ""),
        ("", ""),
    ],
)
def test_a_name_made_fit_to_be_shown(said: str, shown: str) -> None:
    assert names.clean(said) == shown


@given(st.text(max_size=60))
def test_any_name(said: str) -> None:
    shown = names.clean(said)
    assert cell_len(shown) <= names.WIDEST and names.clean(shown) == shown
    assert not any(unicodedata.category(letter)[0] == "C" for letter in shown) and "\n" not in shown


@given(st.lists(st.text(max_size=20), max_size=12))
def test_all_names_differ(said: list[str]) -> None:
    taken: list[str] = []
    for one in said:
        taken.append(names.unlike(one, taken))
    assert len({name.casefold() for name in taken}) == len(taken) and all(map(cell_len, taken))
    assert all(cell_len(name) <= names.WIDEST for name in taken)
