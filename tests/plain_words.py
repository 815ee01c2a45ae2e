"""Find chopped rows of sentences, and words that this project uses in a sense of its own.

`tests.plain_english` asks both questions of every paragraph. Each word has a pattern that leaves its ordinary sense alone: a
receiver may have room for two messages, but a package is not a room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

ROWS = {3: 8, 4: 11}
"""So many neighbours with fewer words than this are a row: the reader has to guess how they belong together. Two are good style."""

CODE = re.compile(r"``.+?``|`[^`]+`|<?https?://\S+", re.S)
STOP = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z`█])")
PROSE = re.compile(r"[\"'(*_]*[A-Z█](?:[\w█'’]|-)*[,:]? .*[.!?][\"')*_]*$")
NO_PROSE = re.compile(
    r"[=:]$|\b[A-Z]\.$|\b(?:et al|vol|doi)\b| [=·∙×+] |\d\d\d\d[.,]|^(?:Source|Sources|Seen|Caught by)\b|^\w+(?: \d+)?: (?:█|\w+ █)"
)
"""A formula, the initials of an author, a reference, code with its label."""

IS_ONE = (
    r"\bones\b|\bone(?=[,.;:)]|$| (?:is|was|has|had|of|by|that|which|who|in|on|with|for|to|may|can|cannot|and|or|from|there|"
    r"as|at|only|comes?|goes|waits?|does|will|must|after|before)\b)"
)
COUNTING = re.compile(
    r"\b(?:one by one|one after (?:the other|another)|one (?:in|of) \w+|at one|no one|any one)\b", re.I
)

AGAIN = r"(?:is|are|was|were|be|been|being|gets?|it|them)"
SENT = r"(?:sent|sends?|lost|acknowledged|delivered|arrives?|receivers?|travels?)"
PRIVATE = {
    word: (re.compile(pattern, re.I), instead)
    for word, pattern, instead in [
        ("road", r"\broads?\b", "call path, way"),
        ("floor", r"\b(?:upper|two|one|floors? above) floors?\b|\bfloors? (?:up|above|below)\b", "layer"),
        ("door", r"\bdoors?\b", "entry point"),
        ("room", r"\b(?:this|each|these|all|what|upper|own,?) rooms?\b|\brooms\b|\bopen(?:s|ed)? a room\b|\b(?:a|the) room (?:`|█|of|beside|that a)", "package"),
        ("house", r"\b(?:our|the|this|a) house(?:'s)?\b|\bhouse (?:rule|test|word)s?\b", "project"),
        ("seam", r"\bseams?\b", "interface"),
        ("told", r"(?<!be )\btold(?= (?:in|at once|already|once|twice|together|aloud)\b|[.,:;])|\bbe told[.,;]|\b(?:failure|fault|deadlock|wait|error|mistake|loss|bug)s? (?:is|are|was|were) told\b", "reported"),
        ("made again", rf"\b{AGAIN} made again\b|\bmakes? (?:it |them )?again\b|\bmade again by\b", "reproduced, rebuilt"),
        ("dear", r"\bdear(?:er|est)?\b", "expensive"),
        ("befall", r"\bbef[ae]l\w*", "happen, hit"),
        ("lend", r"\b(?:lent|lends?|lending)\b", "borrow"),
        ("mend", r"\bmend(?:s|ed|ing)?\b", "repair, fix"),
        ("burn", r"\bburn(?:s|t|ed|ing)?\b", "light up, be on"),
        ("spares", r"\bspares\b", "accepts, leaves alone"),
        ("kills", r"\b(?:exception|check|lamp|property|properties|test|verdict)s? kills?\b|\bkills (?:all |some )?mutants?\b", "catches"),
        ("letter", rf"\bletters?\b (?:\w+ ){{0,4}}{SENT}\b|\b{SENT} (?:\w+ ){{0,2}}letters?\b|\bwrite letters\b", "message"),
        ("number of a rank", r"\b(?:rank|another|others?) of (?:one|its|that|the same) number\b|\bnumber \d+ (?:sends|waits|receives)\b", "rank"),
        ("ways", r"\bways (?:back|down|through|from|between)\b|\bsame ways\b", "paths"),
        ("right", r"\blamps? [*`]?right\b|: right, exactly once", "correct"),
    ]
}  # fmt: skip


def count_words(sentence: str) -> int:
    """How many words it has; code counts as one."""
    return sum(bool(re.search(r"\w|█", word)) for word in CODE.sub("█", sentence).split())


def is_short(sentence: str, words: int) -> bool:
    """Whether it is a sentence of prose with fewer words. A formula and a reference are no prose."""
    plain = CODE.sub("█", sentence)
    if not PROSE.match(plain) or NO_PROSE.search(plain):
        return False
    return 2 <= count_words(sentence) < words


def chopped_rows(paragraph: str) -> list[str]:
    """The rows of short sentences in a paragraph: three very short neighbours, or four short ones."""
    for least, words in ROWS.items():
        runs = groupby(stops(paragraph), key=lambda sentence: is_short(sentence, words))
        rows = [[*run] for is_row, run in runs if is_row]
        if found := [" ".join(row) for row in rows if len(row) >= least]:
            return found
    return []


def stops(paragraph: str) -> list[str]:
    """The parts of a paragraph that end with a full stop, a question mark or an exclamation mark."""
    hidden: list[str] = []

    def hide(found: re.Match[str]) -> str:
        hidden.append(found[0])
        return f"█{len(hidden) - 1}█"

    parts = STOP.split(CODE.sub(hide, " ".join(paragraph.split())))
    return [re.sub(r"█(\d+)█", lambda found: hidden[int(found[1])], part) for part in parts]


def private_words(sentence: str) -> Iterator[str]:
    """What is private about a sentence: its words, and "one" as a pronoun thrice."""
    plain = CODE.sub("█", sentence)
    for word, (pattern, instead) in PRIVATE.items():
        if pattern.search(plain):
            yield f'has a private "{word}" ({instead})'
    if len(re.findall(IS_ONE, COUNTING.sub("", plain), re.I)) >= 3:
        yield 'has "one" as a pronoun thrice'
