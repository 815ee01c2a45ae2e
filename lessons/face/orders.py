"""The order of one rank of a pipeline: a list of actions."""

from enum import Enum
from typing import NamedTuple


class ActionKind(Enum):
    FORWARD = "F"
    FULL_BACKWARD = "B"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"


F, B, I, W = ActionKind


class Action(NamedTuple):
    stage: int
    kind: ActionKind
    microbatch: int


class Pipe(NamedTuple):
    ranks: int
    microbatches: int
