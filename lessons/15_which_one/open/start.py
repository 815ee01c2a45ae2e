"""A network without a data sheet. `mtd contest 15` says how far you are from the bound.

`jobs` is a list; each job has ranks and nbytes, and is one all_reduce. `send(nbytes)` sends a message from one rank to
another and returns how many milliseconds it took: α + βn, or up to a fifth more. That time counts.

Return for each job (algorithm, milliseconds to reserve). A job that is done early leaves the rest idle. A job that
takes longer is stopped, and done again in three times the time that it takes.
"""

from choice import PRICES  # lesson 15: yours if it passed, else ours


class Links:
    """Your formulas ask for these two; here they are in milliseconds."""

    def __init__(self, alpha, beta):
        self.alpha, self.beta = alpha, beta


def reserve(jobs, send):
    """Measure once, take the ring, and reserve one and a half times what it should take."""
    alpha = send(0)
    beta = max(send(1_000_000) - alpha, 0) / 1_000_000
    links = Links(alpha, beta)
    return [("ring", 1.5 * PRICES["ring"](job.ranks, job.nbytes, links)) for job in jobs]
