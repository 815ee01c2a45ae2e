"""The history of each cell of a grid: changes and messages, and the first change that was wrong.

The first wrong cell is found backwards, from the cells that are wrong in the end. It is the earliest of them that took a
contribution which does not belong there, or lost one. Where no cell did, it is one that was never completed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mtd.grids.grid import Grid
from mtd.grids.grid_cells import EMPTY, SMALL, GridFault, GridMessage, GridStep, letter
from mtd.grids.labels import SIGNS, UNREADABLE, Holding


class SentCells(NamedTuple):
    source: int
    to: int
    cells: list[Holding]
    where: str


class CellChange(NamedTuple):
    at: int
    rank: int
    cell: int
    before: Holding
    after: Holding
    by: SentCells | None  # the message that brought it


class FillHistory:
    """Each change of a cell, and each message.

    `due` says of each rank and cell what has to be in it in the end; None where nobody asks. With `is_choice` a cell keeps
    one contribution, as the largest and the smallest do.
    """

    def __init__(
        self, due: Sequence[Sequence[Holding | None]], is_choice: bool = False, rows: Sequence[str] = ()
    ) -> None:
        self.due, self.is_choice = due, is_choice
        self.rows = [*rows] or [f"rank {rank}" for rank in range(len(due))]
        self.first: list[list[Holding]] = [[()] * len(row) for row in due]
        self.held: list[list[Holding]] = [[()] * len(row) for row in due]
        self.changes: list[CellChange] = []
        self.arrivals: list[tuple[int, SentCells]] = []

    def goes_on(self, before: Holding, after: Holding, due: Holding) -> bool:
        """Whether what a cell has can still become what is expected, and nothing is lost."""
        if self.is_choice:  # the first rank that is in it remains
            return len(after) == 1 and after[0][1] == due[0][1] and (not before or after <= before)
        return Counter(before) <= Counter(after) <= Counter(due)

    def begin(self, rank: int, held: Sequence[Holding]) -> None:
        """A rank holds this at first."""
        self.first[rank], self.held[rank] = [*held], [*held]

    def near(self, rank: int, cell: int) -> int:
        """The element that belongs into a cell."""
        due = self.due[rank][cell]
        return due[0][1] if due else cell

    def change(self, at: int, rank: int, cell: int, after: Holding, inbox: Sequence[SentCells] = ()) -> None:
        """It may have become something else. Of the messages of that rank, the latest that fits has brought it."""
        before = self.held[rank][cell]
        if before != after:
            by = next((sent for sent in reversed(inbox) if _brought(sent, before, after)), None)
            self.held[rank][cell] = after
            self.changes.append(CellChange(at, rank, cell, before, after, by))

    def grid(
        self,
        title: str,
        *,
        is_over: bool = True,
        names_elements: bool = False,
        heads: Sequence[str] = (),
        named: Callable[[int], str] | None = None,
        of: str = "element",
        notes: Sequence[str] = (),
    ) -> Grid:
        """All that happened. Without `heads`, neighbours that always hold the same are one column. With `named` a step is
        called by its time, and what changes nothing is none."""
        arrivals = [] if named else [at for at, _ in self.arrivals]
        times = sorted({0, *(change.at for change in self.changes), *arrivals})
        columns = [[cell] for cell in range(len(heads))] if heads else self._columns()
        names = heads or [f"{part[0]}" if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in columns]
        said, steps, held = _FillWords(self, names_elements, heads), [], [[*row] for row in self.first]

        def written(rows: Sequence[Sequence[Holding | None]]) -> list[list[str]]:
            return [[said.cell(row, part[0], line[part[0]] or ()) for part in columns] for row, line in enumerate(rows)]

        for number, at in enumerate(times):
            for change in self.changes:
                if change.at == at:
                    held[change.rank][change.cell] = change.after
            came = [sent for when, sent in self.arrivals if when == at]
            messages = [said.message(sent)._replace(columns=self._columns_of(sent, columns)) for sent in came]
            name = named(at) if named else f"{number}"
            steps.append(GridStep(name if number else "at first", written(held), messages))
        called = [one.name if named else f"step {one.name}" for one in steps]
        fault = self._fault(said, times, columns, is_over, called)
        return Grid(title, self.rows, [*names], steps, written(self.due), fault, of, [*notes])

    def _columns(self) -> list[list[int]]:
        """The cells of a row, with neighbours together that hold the same all the time."""
        histories: dict[int, list[Any]] = defaultdict(list)
        for number in range(len(self.due[0]) if self.due else 0):
            for rank, row in enumerate(self.due):
                ends = row[number], self.first[rank][number]
                histories[number] += [self._without_place(rank, number, one) for one in ends]
        for change in self.changes:
            seen = change.at, change.rank, self._without_place(change.rank, change.cell, change.after)
            histories[change.cell].append(seen)
        found: list[list[int]] = []
        for number, history in histories.items():
            if found and histories[found[-1][0]] == history:
                found[-1].append(number)
            else:
                found.append([number])
        return found

    def _columns_of(self, sent: SentCells, columns: list[list[int]]) -> list[int]:
        """Where a message has changed something."""
        cells = {change.cell for change in self.changes if change.by is sent}
        return [column for column, part in enumerate(columns) if cells & {*part}]

    def _without_place(self, rank: int, cell: int, held: Holding | None) -> Any:
        return held and [(source, element - self.near(rank, cell)) for source, element in held]

    def _fault(
        self, said: _FillWords, times: list[int], columns: list[list[int]], is_over: bool, steps: list[str]
    ) -> GridFault | None:
        place = {cell: column for column, part in enumerate(columns) for cell in part}
        found = first_wrong(self, is_over)
        if found is None:
            return None
        rank, cell, change = found
        step = len(times) - 1 if change is None else times.index(change.at)
        return GridFault(step, rank, place[cell], said.fault(rank, cell, change, steps[step]))


def first_wrong(history: FillHistory, is_over: bool = True) -> tuple[int, int, CellChange | None] | None:
    """The first cell that is wrong for good, and the change that made it so; None: it was never completed."""
    turning: dict[tuple[int, int, int], CellChange] = {}
    lacking: list[tuple[int, int]] = []
    for rank, row in enumerate(history.due):
        for cell, due in enumerate(row):
            if due is None or history.held[rank][cell] == due:
                continue
            change = _turning_point(history, rank, cell, due)
            if change is not None:
                turning[change.at, rank, cell] = change
            else:
                lacking.append((rank, cell))
    if turning:
        _, rank, cell = first = min(turning)
        return rank, cell, turning[first]
    return (*lacking[0], None) if lacking and is_over else None


def _turning_point(history: FillHistory, rank: int, cell: int, due: Holding) -> CellChange | None:
    """The change with which a cell took what does not belong there, or lost what it had, for good."""
    first = history.first[rank][cell]
    best: Holding = first if history.goes_on((), first, due) else ()
    found = None
    for change in history.changes:
        if (change.rank, change.cell) == (rank, cell):
            if history.goes_on(best, change.after, due):
                best, found = change.after, None
            elif found is None:
                found = change
    return found


class _FillWords:
    """Cells and messages in letters."""

    def __init__(self, history: FillHistory, names_elements: bool, heads: Sequence[str] = ()) -> None:
        self.history, self.names_elements, self.heads = history, names_elements, heads

    def holding(self, held: Holding, near: int) -> str:
        """`ac`; with the element of each that is not the one due here."""
        names = self.names_elements
        return "".join(
            SIGNS[rank].format(element)
            if rank in SIGNS
            else letter(rank) + (f"{element}".translate(SMALL) if names or element != near else "")
            for rank, element in held
        )

    def cell(self, rank: int, cell: int, held: Holding) -> str:
        return self.holding(held, self.history.near(rank, cell))

    def message(self, sent: SentCells) -> GridMessage:
        """`ab₂₋₃ c₄`: neighbours from the same ranks in one word."""
        parts: list[list[Holding]] = []
        for held in sent.cells:
            if parts and held == tuple((rank, element + 1) for rank, element in parts[-1][-1]):
                parts[-1].append(held)
            else:
                parts.append([held])
        return GridMessage(sent.source, sent.to, " ".join(dict.fromkeys(map(self._part, parts))), sent.where)

    def _part(self, part: list[Holding]) -> str:
        ends = [[element for _, element in held] for held in (part[0], part[-1])]
        if not part[0] or UNREADABLE in dict(part[0]) or len({*ends[0]}) > 1:
            return self.holding(part[0], -1) or EMPTY
        names = f"{ends[0][0]}" if len(part) == 1 else f"{ends[0][0]}-{ends[1][0]}"
        names = names if len(self.history.due[0]) > 1 and not self.heads else ""
        return "".join(letter(rank) for rank, _ in part[0]) + names.translate(SMALL)

    def called(self, cell: int) -> str:
        return self.heads[cell] if self.heads else f"element {cell}"

    def fault(self, rank: int, cell: int, change: CellChange | None, step: str) -> str:
        due, near = self.history.due[rank][cell] or (), self.history.near(rank, cell)
        where, whole = f"{self.history.rows[rank]}, {self.called(cell)}", self.holding(due, near) or "nothing"
        if change is None:
            left = self.history.held[rank][cell]
            missing = self.holding(tuple((Counter(due) - Counter(left)).elements()), near)
            return f"{where}: {self.holding(left, near) or 'nothing'} instead of {whole} in the end, because {missing} never came"
        has, why = self.holding(change.after, near) or "nothing", _why(self, rank, cell, change, due)
        came = "No message brought it: the rank wrote it itself."
        if change.by is not None:
            came = (
                f"It came with {self.message(change.by).text} from rank {change.by.source}, sent at {change.by.where}."
            )
        return f"{where}: {has} from {step} on, and {whole} is expected, because {why}. {came}"


def _why(said: _FillWords, rank: int, cell: int, change: CellChange, due: Holding) -> str:
    """Which of the contributions is wrong."""
    near, after = said.history.near(rank, cell), Counter(change.after)
    if any(source == UNREADABLE for source, _ in after):
        return "that is no sum of what the ranks gave"
    strange = after - Counter(due)
    for source, element in strange:
        if source in SIGNS:
            return f"that is the sum of all {element} and not their average"
        if element != near:
            name = f"{letter(source)}{element}".translate(SMALL)
            return f"{name} is {said.called(element)} of rank {source}"
        if said.history.is_choice:
            return f"{said.holding(due, near)} is lost"
        if not any(source == other for other, _ in due):
            return f"{letter(source)} does not belong there"
        times = after[source, element]
        return f"rank {source} is counted {'twice' if times == 2 else f'{times} times'}"
    return f"{said.holding(tuple((Counter(change.before) - after).elements()), near)} is lost"


def _brought(sent: SentCells, before: Holding, after: Holding) -> bool:
    """Whether a message holds what makes one of the other."""
    added = tuple(sorted((Counter(after) - Counter(before)).elements()))
    return any(cell and cell in (after, added) for cell in sent.cells)
