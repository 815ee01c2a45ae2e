"""The length of a step along a direction: one that meets the strong Wolfe conditions (Nocedal & Wright, chapter 3).

With φ(t) = f(x + t d) a step t is good enough where

    φ(t) ≤ φ(0) + c₁ t φ'(0)          it goes down as far as the slope at the beginning lets one expect
    |φ'(t)| ≤ c₂ |φ'(0)|              and the slope there is flat

The search first doubles its way until two steps enclose a good one (`_enclose`), and then makes the
interval between them smaller (`_narrow`). Both guess the next step by a cubic through two points.
The guesses, limits and their order are torch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from minitorch_dist.tensors.core.base import Array

C1, C2 = 1e-4, 0.9


class Point(NamedTuple):
    """A step along the direction, with the value, gradient and slope found there."""

    step: float
    value: float
    grad: Array
    slope: float


class LineSearch:
    """One line search. `evaluate` tells the point at a step; `count` says how often it was asked."""

    def __init__(
        self,
        evaluate: Callable[[float], Point],
        start: Point,
        longest: float,
        limit: int,
        least_change: float = 1e-9,
    ) -> None:
        self.evaluate, self.start = evaluate, start
        self.longest = longest  # the largest component of the direction
        self.limit, self.least_change = limit, least_change
        self.count = 0
        self._rounds = 0

    def find(self, first: float) -> Point:
        """A point that meets both conditions, or the lowest one found within the limit."""
        near, far, is_found = self._enclose(first)
        if is_found:
            return near
        return self._narrow(near, far)

    def _evaluate(self, step: float) -> Point:
        self.count += 1
        return self.evaluate(step)

    def _is_too_high(self, point: Point) -> bool:
        return point.value > self.start.value + C1 * point.step * self.start.slope

    def _is_flat(self, point: Point) -> bool:
        return abs(point.slope) <= -C2 * self.start.slope

    def _enclose(self, first: float) -> tuple[Point, Point, bool]:
        """Two points with a good step between them; or one that is good, and True."""
        before, now = self.start, self._evaluate(first)
        while self._rounds < self.limit:
            if self._is_too_high(now) or (self._rounds > 1 and now.value >= before.value):
                return before, now, False
            if self._is_flat(now):
                return now, now, True
            if now.slope >= 0:
                return before, now, False
            least, most = now.step + 0.01 * (now.step - before.step), now.step * 10
            guess = cubic_minimum(before, now, least, most)
            before, now = now, self._evaluate(guess)
            self._rounds += 1
        return self.start, now, False

    def _narrow(self, one: Point, other: Point) -> Point:
        """Replace an end of the interval by a point between, until one is good or nothing changes."""
        bracket = [one, other]
        low = 0 if one.value <= other.value else 1
        is_stuck = False  # the last guess lay close to an end
        while self._rounds < self.limit:
            left, right = sorted(point.step for point in bracket)
            if (right - left) * self.longest < self.least_change:
                break
            guess = cubic_minimum(bracket[0], bracket[1], left, right)
            margin = 0.1 * (right - left)
            is_close = min(right - guess, guess - left) < margin
            if is_close and (is_stuck or guess >= right or guess <= left):
                is_right = abs(guess - right) < abs(guess - left)
                guess = right - margin if is_right else left + margin
                is_close = False
            is_stuck = is_close
            now = self._evaluate(guess)
            self._rounds += 1
            if self._is_too_high(now) or now.value >= bracket[low].value:
                bracket[1 - low] = now
                low = 0 if bracket[0].value <= bracket[1].value else 1
                continue
            is_good = self._is_flat(now)
            if not is_good and now.slope * (bracket[1 - low].step - bracket[low].step) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = now
            if is_good:
                break
        return bracket[low]


def cubic_minimum(one: Point, other: Point, least: float, most: float) -> float:
    """Where the cubic with these two values and slopes is lowest, within the limits."""
    left, right = (one, other) if one.step <= other.step else (other, one)
    width = left.step - right.step
    with_slope = one.slope + other.slope - 3 * _quotient(left.value - right.value, width)
    square = with_slope**2 - one.slope * other.slope
    if not square >= 0:
        return (least + most) / 2
    root = math.sqrt(square)
    ends = right.slope - left.slope + 2 * root
    lowest = right.step + width * _quotient(right.slope + root - with_slope, ends)
    return min(max(lowest, least), most)


def _quotient(a: float, b: float) -> float:
    """a / b as numpy has it: a division by zero is no error."""
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
