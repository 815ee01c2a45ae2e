"""Find sentences that are hard for a reader whose English is a second language: long, twisted, chopped, or with private words.

    python -m tests.plain_english                  all pages and all code
    python -m tests.plain_english README.md docs   these files and folders

It reads Markdown, docstrings, and the texts that a program prints or raises. It knows nothing of grammar: it counts words, and it
looks at how a sentence begins. `tests/plain_words.py` finds rows of short sentences, and words with a sense that only we know.
Of a comment it reads only how its sentences begin. `tests/test_plain_english.py` says which files it
holds.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.plain_words import chopped_rows, private_words

HOUSE = Path(__file__).parents[1]
LONGEST = 28
"""A sentence of more words is too long. About 20 is the aim; a few may be longer."""

FREE = r"(?:who|whoever|whom|what|whatever|that which)"
VERB = r"(?:is|are|was|were|has|have|had|does|do|did|can|may|must|will|comes?|stands?|goes|lies|falls?|stays?|follows?|remains?)"
CHOPPED = "is a row of short sentences"
FREE_BEGINNING = "begins with a free who or what"
FAULTS = {
    FREE_BEGINNING: re.compile(rf"(?:(?:so|and|but|then|or|nor) )?{FREE}\b", re.I),
    "begins with a clause as its subject": re.compile(
        rf"That (?:an?|the|every|each|no|all|some|its|their|one)\b.*\b{VERB} (?:not )?"
        r"(?:promised|tested|told|shown|said|proved|a|the|why|what|how)\b"
    ),
    "is inverted": re.compile(
        rf"(?:nor|neither|only then|not only|so|thus|then|hence|behind it|above it|below it|beside it|to it|with it|of it) "
        rf"(?!(?:there )?(?:is|are|was|were|has|have|may|can|must|will)\b (?:an?|no|one|two|three|nothing|nobody|also|only)\b){VERB}\b"
        rf"(?! (?:done|not|as|what|so)\b)|here (?:stands?|comes?|lies?|goes|follows?)\b|had (?:it|he|they|the \w+) ",
        re.I,
    ),
}
ANYWHERE = {
    "has a free who": re.compile(
        r"\b(?:for|to|by|from|than|with|let|lets|tell|tells|as) who(?:ever)?\b(?! (?:else|is who))", re.I
    ),
    "has a free whom": re.compile(r"\b(?:for|to|by|from|of|with|whose) whom (?:it|they|this|that)\b", re.I),
}

CODE = re.compile(r"``.+?``|`[^`]+`", re.S)
END = re.compile(r"(?<=[.!?])(?:[\"')*_]+)?\s+(?=[\"'(*_]*(?:[A-Z`0-9█]|torch|numpy|mtd))|\s·\s")
ROW = re.compile(r"(?<=[^\s.!?]) {2,}(?=\S)")
SECTION = re.compile(r"(?:Args|Returns|Raises|Example):$")
GOOGLE = re.compile(rf"\s*(?:{SECTION.pattern}|\*{{0,2}}\w+(?:, \w+)*: )")
"""The lines of a docstring that name a section, or a parameter or an error of it."""
SHORT = re.compile(r"\b(?:e\.g|i\.e|et al|vs|cf|etc)\.")


@dataclass(frozen=True)
class Finding:
    path: Path
    line: int
    fault: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(HOUSE)}:{self.line}: {self.fault}: {self.sentence}"


def faults_of(sentence: str, is_label: bool = False) -> Iterator[str]:
    """The faults of a sentence. Code in it counts as one word. A label, such as a table's "what it does", may begin with "what"."""
    plain = CODE.sub("█", sentence).strip(" \"'(*_")
    words = [word for word in plain.split() if re.search(r"\w|█", word)]
    if len(words) > LONGEST:
        yield f"{len(words)} words"
    if len(words) < 3:
        return
    is_question = plain.rstrip("\"')*_").endswith("?")
    for fault, pattern in FAULTS.items():
        if pattern.match(plain) and not is_question and not (is_label and plain[:5] == "what "):
            yield fault
    for fault, pattern in ANYWHERE.items():
        if pattern.search(plain):
            yield fault


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph. A semicolon ends one, too."""
    hidden: list[str] = []

    def hide(found: re.Match[str]) -> str:
        hidden.append(found[0])
        return f"█{len(hidden) - 1}█"

    text = CODE.sub(hide, " ".join(paragraph.split()))
    text = SHORT.sub(hide, text)
    parts = [part for one in END.split(text) for part in re.split(r";\s+", one)]
    return [re.sub(r"█(\d+)█", lambda found: hidden[int(found[1])], part) for part in parts]


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph, list item and table cell of a Markdown text or a docstring, with its line. Code and headings are left out."""
    held: list[str] = []
    start, fenced, after_blank, in_list, in_doctest, in_sections = 1, False, True, False, False, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        bare = line.strip()
        is_code = fenced or bare.startswith("```") or (line.startswith("    ") and after_blank and not in_list)
        in_sections = in_sections or bool(SECTION.match(bare))
        item = re.match(r"\s*(?:[-*]|\d+\.) ", line) or (in_sections and GOOGLE.match(line))
        in_doctest = bool(bare) and (in_doctest or bare.startswith(">>> "))
        is_code = is_code or in_doctest
        cut = not bare or is_code or item or bare.startswith(("#", "|", "!["))
        if cut and held:
            yield start, " ".join(held)
            held = []
        if is_code and bare:
            continue  # so that the lines after it are code, too
        after_blank = not bare
        in_list = bool(item) or (in_list and (not bare or line.startswith(" ")))
        if bare.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", bare.strip("|")):
                yield number, cell.strip()
        elif ROW.search(bare):  # of a table in a docstring
            if held:
                yield start, " ".join(held)
                held = []
            yield from ((number, cell) for cell in ROW.split(bare))
        elif bare and not bare.startswith(("#", "![")):
            start = start if held else number
            bare = re.sub(r"^(?:[-*]|\d+\.) |^> ?", "", bare)
            bare = re.sub(r"^\*{0,2}\w+: ", "", bare) if in_sections else bare
            held.append(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", bare))


def in_text(path: Path, text: str, first: int = 1) -> Iterator[Finding]:
    for line, paragraph in paragraphs(text):
        is_label = paragraph[:1].islower() and paragraph[-1:] != "."
        for sentence in sentences(paragraph):
            for fault in faults_of(sentence, is_label):
                yield Finding(path, first + line - 1, fault, sentence)
        for sentence in sentences(paragraph):
            for fault in private_words(sentence):
                yield Finding(path, first + line - 1, fault, sentence)
        for row in chopped_rows(paragraph):
            yield Finding(path, first + line - 1, CHOPPED, row)


def written(node: ast.expr) -> str | None:
    """The text of a string; values that are put into it count as a word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "`…`" for part in node.values)
        return "".join(str(part) for part in parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = written(node.left), written(node.right)
        return None if left is None or right is None else left + right
    return None


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of all strings that stand alone as a statement."""
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def in_code(path: Path) -> Iterator[Finding]:
    """Docstrings, and every other text of more than five words."""
    tree = ast.parse(path.read_text("utf-8"))
    alone = docstrings(tree)
    seen: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in seen or not isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp)):
            continue
        text = written(node)
        if text is not None:
            seen.update(id(part) for part in ast.walk(node))
            indent = re.search(r"\n( +)\S", text)
            text = text.replace("\n" + indent[1], "\n") if indent and node.col_offset else text
            if len(text.split()) > 5 or id(node) in alone:
                yield from in_text(path, text, node.lineno)


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Each comment, with its line. Comments on lines of their own that follow each other are one."""
    held: list[str] = []
    start = at = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, is_alone = token.start[0], not token.line[: token.start[1]].strip()
        if held and not (is_alone and line == at + 1):
            yield start, " ".join(held)
            held = []
        start, at = start if held else line, line if is_alone else -1
        held.append(token.string.lstrip("#: "))
    if held:
        yield start, " ".join(held)


def in_comments(path: Path) -> Iterator[Finding]:
    """Comments that begin with a free who or what; their other faults are left out."""
    for line, comment in comments(path.read_text("utf-8")):
        yield from (finding for finding in in_text(path, comment, line) if finding.fault == FREE_BEGINNING)


def in_settings(path: Path) -> Iterator[Finding]:
    """The texts of a TOML file, such as a lesson's questions."""
    for text in texts(tomllib.loads(path.read_text("utf-8"))):
        yield from in_text(path, text)


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str) and len(value.split()) > 5:
        yield value
    elif isinstance(value, dict | list):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            if name != "said":  # by a program
                yield from texts(part)


def in_file(path: Path) -> list[Finding]:
    if path.suffix == ".py":
        return [*in_code(path), *in_comments(path)]
    if path.suffix == ".toml":
        return list(in_settings(path))
    text = path.read_text("utf-8")
    if path.name == "CHANGELOG.md":  # versions that are out stay as they are
        text = "\n## ".join(text.split("\n## ")[:2])
    return list(in_text(path, text))


def files(names: list[str]) -> list[Path]:
    found: list[Path] = []
    for name in names:
        path = HOUSE / name
        found += (
            [path]
            if path.is_file()
            else sorted(file for kind in ("*.md", "*.py", "lesson.toml") for file in path.rglob(kind))
        )
    return found


def main(names: list[str]) -> int:
    everything = ["README.md", "CONTRIBUTING.md", "DESIGN.md", "CHANGELOG.md", "docs"]
    findings = [
        finding
        for path in files(names or [*everything, "minitorch_dist", "transports", "mtd"])
        for finding in in_file(path)
    ]
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
