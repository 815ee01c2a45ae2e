"""The pages, the library and the transports have short and straight sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plain_english import CHOPPED, FREE_BEGINNING, HOUSE, comments, faults_of, files, in_file, in_text, sentences
from tests.plain_words import private_words

MADE_FROM_CODE = ["docs/museum.md", "docs/one_call.md", "docs/whole_stack.md"]
LEFT_AS_IT_IS = (  # torch's errors and warnings, letter by letter; names; a program; HTML and CSS; the words of keys; a sonnet
    "Starting in PyTorch 2.9, calling checkpoint", "In version 2.9 we will raise an exception",
    "torch.utils.checkpoint: Recomputed values", "This view was created inside a custom Function",
    "You can clarify your code by moving both", "If you are using DistributedDataParallel (DDP)",
    "dropout2d: Received a 3D input", "reduction: 'mean' divides the total loss",
    "torch.searchsorted(): boundaries tensor", "When period is 1, no need to use model averaging",
    "RPC only supports CPU tensors by default", "Sequential Schedulers expects number of schedulers",
    "If you are running on a CPU-only machine", "DeQuantStub FakeQuantize", "Beta Binomial Cauchy",
    "If you have to use this function, make sure", "import os, sys, wires", "<h1>A class trained one model", "acorn amber anchor",
    "Thou art more lovely", "Nor shall Death brag",
    "Lamps have the names that an engineer would use", "\"finds round 7's door open\"",  # which cite old names and messages
    "for one in exhibits()",
)  # fmt: skip
LEFT_OUT = {HOUSE / name for name in MADE_FROM_CODE}
PAGES = ["README.md", "CONTRIBUTING.md", "DESIGN.md", "CHANGELOG.md", "docs"]
LIBRARY = HOUSE / "minitorch_dist"
FOLDERS = sorted(
    f"minitorch_dist/{path.name}"
    for path in LIBRARY.iterdir()
    if path.suffix == ".py" or (path / "__init__.py").exists()
)
LESSONS = sorted(f"lessons/{path.name}" for path in (HOUSE / "lessons").glob("[0-9]*_*"))
OTHERS = ["transports", "mtd", "programs", "lessons/face"]


@pytest.mark.parametrize("name", [*PAGES, *OTHERS, *FOLDERS, *LESSONS])
def test_sentences_are_plain(name: str) -> None:
    paths = [path for path in files([name]) if path not in LEFT_OUT]
    assert paths
    findings = [finding for path in paths for finding in in_file(path)]
    assert [str(finding) for finding in findings if not finding.sentence.startswith(LEFT_AS_IT_IS)] == []


@pytest.mark.parametrize(
    "hard",
    [
        "Who waits, looks.",
        "So who waits, looks again and again.",
        "What does not fit is refused.",
        "Whatever it was, it is gone now.",
        "That a flood is survived is not promised.",
        "Then comes the next generation.",
        "A message is kept for whom it may concern.",
        "This is a page for who reads it.",
        " ".join(["word"] * 29) + ".",
    ],
)
def test_hard_sentences_are_found(hard: str) -> None:
    assert list(faults_of(hard))


@pytest.mark.parametrize(
    "plain",
    [
        "A waiting rank polls.",
        "Who waits for whom?",
        "Then there is one rank that waits.",
        "The rank that waits for a message polls.",
        "A call of `a long program with very many words, " + "word " * 30 + "` counts as one.",
    ],
)
def test_plain_sentences_are_not(plain: str) -> None:
    assert not list(faults_of(plain))


def test_sentences_end_where_they_end() -> None:
    assert sentences("One. `two` is code; e.g. this? *Yes.* Figures: 1.5, 2.0.") == [
        "One.",
        "`two` is code",
        "e.g. this?",
        "*Yes.",
        "Figures: 1.5, 2.0.",
    ]


@pytest.mark.parametrize(
    "code",
    [
        '"""What it is."""',
        'def f() -> None:\n    """What was said."""',
        'class C:\n    """Whoever waits, polls."""',
        'LIMIT = 3\n"""What a rank may send."""',
        "# What a rank may send.\nLIMIT = 3",
        "LIMIT = 3  # who sends more is stopped",
        "# A rank has a limit.\n# Who sends more is stopped.\nLIMIT = 3",
    ],
)
def test_free_beginnings_in_code_are_found(code: str, tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(code)
    assert [finding.fault for finding in in_file(path)] == [FREE_BEGINNING]


@pytest.mark.parametrize(
    "code",
    [
        '"""What is a rank?"""',
        "# A rule of the house is older than\n# what stands here.\nLIMIT = 3",
        "LIMIT = 3  # what a rank may send",
        '# A text is no comment.\nwords = "# What now"',
    ],
)
def test_questions_labels_and_texts_are_not_free_beginnings(code: str, tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(code)
    assert in_file(path) == []


def test_comments_that_follow_each_other_are_one() -> None:
    code = "a = 1  # one\n# two\n# three\n\n# four\nb = '# no comment'\n"
    assert list(comments(code)) == [(1, "one"), (2, "two three"), (5, "four")]


@pytest.mark.parametrize(
    "chopped",
    [
        "It runs. It waits for rank 1. Then it sends.",
        "The lock is taken. Who has it? Nobody knows. The program that waits for it looks again after a second of virtual time.",
        "Every rank sends one number to the right. Every rank receives one number from the left. All ranks add it to their sum. "
        "They do this in all rounds.",
        "`close` delivers first. The death of a peer is reported. A stranger gets nothing.",
    ],
)
def test_chopped_rows_are_found(chopped: str) -> None:
    assert [finding.fault for finding in in_text(HOUSE / "README.md", chopped)] == [CHOPPED]


@pytest.mark.parametrize(
    "text",
    [
        "It runs. It waits for a message of rank 1, because that rank has to send first. Then it sends. It ends.",
        "- It runs.\n- It waits.\n- It sends.",
        "Source: R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005.",
        "x = 1. y = 2 + x. z = 3 · y.",
    ],
)
def test_two_short_sentences_lists_sources_and_formulas_are_no_rows(text: str) -> None:
    assert list(in_text(HOUSE / "README.md", text)) == []


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("The road of a call is short.", "road"),
        ("Tensors are one floor up.", "floor"),
        ("It goes through this door.", "door"),
        ("Open a room when it is first named.", "room"),
        ("It is a rule of the house.", "house"),
        ("Here the seam lies.", "seam"),
        ("A deadlock is told at once.", "told"),
        ("A long wait is told in the log.", "told"),
        ("The run can be made again.", "made again"),
        ("A send is dearer than an add.", "dear"),
        ("Faults befall packets.", "befall"),
        ("A large part is lent.", "lend"),
        ("Lesson 27 mends that.", "mend"),
        ("Three lamps burn.", "burn"),
        ("The check spares right programs.", "spares"),
        ("Every exception kills.", "kills"),
        ("Each letter that was sent is acknowledged.", "letter"),
        ("Another of its number is here.", "number of a rank"),
        ("There are 12 ways from top to bottom.", "ways"),
        ("The lamp *right* is on.", "right"),
        ("Where one waits for one, ones that follow wait for one of them.", "one"),
    ],
)
def test_private_words_are_found(sentence: str, word: str) -> None:
    assert [fault for fault in private_words(sentence) if f'"{word}"' in fault]


@pytest.mark.parametrize(
    "sentence",
    [
        "`mtd road all_reduce` lists the files of a call.",
        "`x // y` is floor division, and floor(-0.5) is -1.",
        "A receiver has room for two messages of each sender.",
        "Rank 0 is told that rank 1 has left.",
        "The colours can be told apart on white and on black.",
        "A matrix can be cut in two ways.",
        "Each rank sends to its right neighbour, and the sum is right.",
        "A small GPT learns a sonnet letter by letter.",
        "The host kills a process that does not answer.",
        "They are read one by one, one after the other, and one of them is dropped at one instant.",
        "Seen: https://github.com/tracel-ai/burn/issues/5334",
    ],
)
def test_ordinary_senses_of_these_words_are_not(sentence: str) -> None:
    assert not list(private_words(sentence))
