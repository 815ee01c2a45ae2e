"""The run of a check of a collective (`ReplayCase`), and its result (`Verdict`)."""

from __future__ import annotations

from dataclasses import dataclass, field

SIGNS = {True: "✔", False: "✘", None: "–"}


@dataclass(frozen=True)
class ReplayCase:
    """One run; its text is the replay token."""

    collective: str
    size: int
    count: int  # elements of each rank's (of reduce_scatter, all_to_all: for each rank)
    op: str = "sum"
    mode: str = "eager"

    @property
    def where(self) -> str:
        ranks = "1 rank" if self.size == 1 else f"{self.size} ranks"
        return f"{ranks}, {self.count} element{'' if self.count == 1 else 's'}"

    def __str__(self) -> str:
        return f"mtc1:{self.collective};ranks={self.size};count={self.count};op={self.op};{self.mode}"


@dataclass
class Verdict:
    """The result of a check. True if nothing was wrong; `print` shows the lamps."""

    name: str
    lamps: dict[str, bool | None] = field(default_factory=dict)  # None: it could not be tried
    bytes: float | None = None  # times the least that is possible; None: not measured
    rounds: float | None = None
    memory: float | None = None  # vectors beyond the caller's
    complaints: dict[str, str] = field(default_factory=dict)  # by lamp
    tokens: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return False not in self.lamps.values()

    def demand(self) -> Verdict:
        """Itself if all is well, else an AssertionError with these words."""
        if not self:
            raise AssertionError(str(self))
        return self

    def complain(self, lamp: str, words: str, case: ReplayCase | None = None) -> None:
        """Keep the first complaint of each lamp: cases come smallest first."""
        if self.lamps.get(lamp, True) is not False:
            self.lamps[lamp], self.complaints[lamp] = False, words
            if case is not None:
                self.tokens[lamp] = str(case)

    def leave_open(self, *lamps: str) -> None:
        """The run that was to try these lamps did not end. A lamp that is known to be wrong stays so."""
        for lamp in lamps:
            if self.lamps.get(lamp):
                self.lamps[lamp] = None

    def __str__(self) -> str:
        words = " ".join(f"{SIGNS[ok]} {lamp}" for lamp, ok in self.lamps.items())
        words += "" if self.bytes is None else f"  bytes {self.bytes:.2f}× optimum"
        words += "" if self.rounds is None else f"  rounds {self.rounds:.2f}× optimum"
        words += "" if self.memory is None else f"  memory {self.memory:.1f}×"
        lines = [words]
        for lamp, said in self.complaints.items():
            lines.append(f"  {lamp}: {said}")
            lines += [f"    replay: {self.tokens[lamp]}"] if lamp in self.tokens else []
        return "\n".join(lines)
