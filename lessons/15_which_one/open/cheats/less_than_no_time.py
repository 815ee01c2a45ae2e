"""Reserves a negative time, to get some back.

Refused: -1000.0 ms cannot be reserved
"""


def reserve(jobs, send):
    return [("ring", -1000) for _ in jobs]
