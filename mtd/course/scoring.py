"""How good is a check? It should find what is wrong, and accept what is right.

found = score(my_check, right=all_reduces.RIGHT, wrong=all_reduces.WRONG)
print(found)
    8 of 10 wrong ones rejected, 5 of 5 right ones live
      lives: send_before_receive: A ring whose sends nobody is there to take.

A check is a function of one of them that raises if it does not like it. Any exception counts as a finding: what
hangs in virtual time is a Deadlock at once, and what goes on for ever a Livelock. The check may be a
Hypothesis test of a function.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SETTINGS = "_hypothesis_internal_use_settings"  # of a Hypothesis test


@dataclass
class Score:
    """The words of a check on each function, by name; "" where it said nothing."""

    right: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    stories: dict[str, str] = field(default_factory=dict)

    @property
    def rejected(self) -> list[str]:
        return [name for name, said in self.wrong.items() if said]

    @property
    def alive(self) -> list[str]:
        """Wrong ones that it lets pass."""
        return [name for name, said in self.wrong.items() if not said]

    @property
    def accused(self) -> list[str]:
        """Right ones that it does not let pass."""
        return [name for name, said in self.right.items() if said]

    @property
    def points(self) -> int:
        return len(self.rejected) - len(self.accused)

    def __str__(self) -> str:
        lives = len(self.right) - len(self.accused)
        dead = f"{len(self.rejected)} of {len(self.wrong)} wrong ones rejected"
        lines = [f"{dead}, {lives} of {len(self.right)} right ones live"]
        lines += [f"  lives: {name}: {self.stories[name]}" for name in self.alive]
        lines += [f"  accused: {name}: {self.right[name]}" for name in self.accused]
        return "\n".join(lines)


def score(
    check: Callable[[Any], object], right: Sequence[Callable[..., Any]], wrong: Sequence[Callable[..., Any]]
) -> Score:
    """Try `check` on all of them."""
    found = Score()
    if getattr(check, "is_hypothesis_test", False):
        _leave_unexplained(check)
    for told, each in [(found.right, one) for one in right] + [(found.wrong, one) for one in wrong]:
        told[each.__name__] = _said(check, each)
        found.stories[each.__name__] = (each.__doc__ or "").strip().split("\n")[0]
    return found


def _leave_unexplained(check: Callable[[Any], object]) -> None:
    """Hypothesis shrinks a failing example, and then runs the test hundreds of times to explain which arguments
    matter. A score needs the failure alone."""
    from hypothesis import Phase, settings

    own: settings = check.__dict__[SETTINGS]
    check.__dict__[SETTINGS] = settings(own, phases=[phase for phase in own.phases if phase is not Phase.explain])


def _said(check: Callable[[Any], object], function: Callable[..., Any]) -> str:
    try:
        check(function)
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        if isinstance(error, AssertionError) and not first:  # an assert without words
            place = traceback.extract_tb(error.__traceback__)[-1]
            return f"{Path(place.filename).name}:{place.lineno}: {place.line}"
        named = isinstance(error, AssertionError)
        return first if named else f"{type(error).__name__}: {first}".removesuffix(": ")
    return ""
