"""The claims of a paper about an algorithm, beside our counts: a table with one line for each claim.

    algorithm,collective,ranks,bytes,rounds,messages,sent,source
    swing,all_reduce,,,2*lg(p),2*p*lg(p),2*n*(p-1)/p,NSDI 2024
    swing,all_reduce,64,1MB,12,,,"table 2"

A cell is a number, a quantity such as 64KB, or a formula of p (ranks) and n (bytes) with lg, ceil, floor, min and max. Where
ranks or bytes are empty, the claim is for all that are compared.
"""

from __future__ import annotations

import ast
import csv
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.schedule import Schedule
from mtd.refusals import CannotDo
from transports.quantities import amount

OF_THE_GALLERY: Final = Path(__file__).with_name("gallery.csv")
COLUMNS: Final = ("algorithm", "collective", "ranks", "bytes", "rounds", "messages", "sent", "source")
COUNTED: Final = ("rounds", "messages", "sent")
QUANTITY: Final = re.compile(r"[\d.]+\s*[A-Za-zµ]+")  # 64KB; not 2*p
LONGEST: Final = 200  # letters of a formula
MOST_RANKS: Final = 4096
MOST_BYTES: Final = 1 << 40
OPERATORS: Final[dict[type, Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: Fraction,
    ast.FloorDiv: operator.floordiv,
    ast.USub: operator.neg,
}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "lg": lambda p: int(p).bit_length() - 1 if int(p) & (int(p) - 1) == 0 else math.log2(p),
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class PaperClaim:
    """A line of the table, and where it stands."""

    place: str
    cells: dict[str, str]

    def is_of(self, schedule: Schedule) -> bool:
        return self.cells.get("algorithm", "") in ("", schedule.name) and self.cells.get("collective", "") in (
            "",
            schedule.collective,
        )

    def said(self, what: str, p: int, n: int) -> Fraction | None:
        """A cell as a number; None where the paper says nothing."""
        text = self.cells.get(what, "")
        if not text:
            return None
        try:
            return Fraction(amount(text)) if QUANTITY.fullmatch(text) else Fraction(_value(text, p, n))
        except (ValueError, SyntaxError, TypeError, ArithmeticError, LookupError) as error:
            said = f"{self.place}: {what} is {text!r}, and no number or formula of p and n"
            raise CannotDo(f"{said} ({error})") from None

    def whole(self, what: str, most: int) -> int | None:
        """A cell that is a whole number from 1 to `most`; None where it is empty."""
        found = self.said(what, 0, 0)
        if found is not None and (found.denominator != 1 or not 1 <= found <= most):
            said = f"{self.cells[what]!r}, and should be a whole number from 1 to {most:,}"
            raise CannotDo(f"{self.place}: {what} is {said}")
        return None if found is None else int(found)


@dataclass(frozen=True)
class Comparison:
    """One number of a claim, and ours."""

    claim: PaperClaim
    what: str
    ranks: int
    nbytes: int
    said: Fraction
    counted: int

    @property
    def agrees(self) -> bool:
        return self.said == self.counted


def read(path: Path) -> list[PaperClaim]:
    """A table in CSV. CannotDo says in which line something is wrong."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            wrong = [name for name in rows.fieldnames or [""] if name not in COLUMNS]
            if wrong:
                raise CannotDo(f"{path}:1: there is no column {wrong[0]!r}; there are {', '.join(COLUMNS)}")
            return [
                PaperClaim(
                    f"{path.name}:{rows.line_num}", {name: (cell or "").strip() for name, cell in row.items() if name}
                )
                for row in rows
            ]
    except (UnicodeDecodeError, csv.Error) as error:
        raise CannotDo(f"{path} is no table in CSV: {error}") from error


def compare(claims: list[PaperClaim], schedule: Schedule, ranks: list[int]) -> Iterator[Comparison]:
    """Each number that a paper says of this schedule."""
    for claim in filter(lambda one: one.is_of(schedule), claims):
        of_claim = claim.whole("ranks", MOST_RANKS)
        for p in ranks if of_claim is None else [of_claim]:
            if not schedule.serves(p):
                wrong = f"{schedule} is made for {schedule.domain_in_words}, and not for {p} ranks"
                raise CannotDo(f"{claim.place}: {wrong}")
            n = claim.whole("bytes", MOST_BYTES) or 4 * math.lcm(p, max(schedule.total(p), 1))
            bill = cost(schedule, p, n)
            counted = {"rounds": bill.rounds, "messages": bill.messages, "sent": bill.max_sent}
            for what in COUNTED:
                said = claim.said(what, p, n)
                if said is not None:
                    yield Comparison(claim, what, p, n, said, counted[what])


def _value(text: str, p: int, n: int) -> Any:
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text)} letters")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of 2lg(p), which is refused
        return _of(ast.parse(text, mode="eval").body, {"p": p, "n": n})


def _of(node: ast.expr, names: dict[str, int]) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_of(node.left, names), _of(node.right, names))
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_of(node.operand, names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id](*[_of(one, names) for one in node.args])
    raise ValueError(f"{ast.unparse(node)!r} is none")
