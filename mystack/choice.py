"""Which all-reduce, when? Each takes α for every
round and β for every byte that has to wait its turn.

    time │                                       dddhR    d  doubling: the fewest rounds
         │                                   ddddRRRR     h  halving (Rabenseifner's)
         │                                dddhRRR         r  ring: the fewest bytes
         │                             ddRRRRR            a capital letter is the fastest
         │                        rdHRRRR
         │rrrrrrrrrrrrrrrrrrrrrHHHHH                      both axes in powers of ten
         │hhhhhhhhhhhhhhDDDDDDD
         │DDDDDDDDDDDDDD                                  13 ranks, 2 µs, 200 Gb/s
         └────────────────────────────────────────────
          1 kB      10 kB     100 kB    1 MB      10 MB

`links` says what a link costs: `links.alpha` picoseconds
for a message, `links.beta` for each byte of it.
"""

from .doubling import power_below


def rounds_to_all(size):
    """⌈log2 size⌉: in so many rounds one rank can reach all."""
    return (size - 1).bit_length()


def binomial(size, nbytes, links):
    """Up the tree of lesson 11, and down again."""
    return 2 * rounds_to_all(size) * (links.alpha + links.beta * nbytes)


def folding(size, nbytes, links):
    """In and out, where the ranks are no power of two: two messages with everything."""
    return 2 * (links.alpha + links.beta * nbytes) if size > power_below(size) else 0


def recursive_doubling(size, nbytes, links):
    """Everything, in each round, among a power of two."""
    rounds = rounds_to_all(power_below(size))
    return rounds * (links.alpha + links.beta * nbytes) + folding(size, nbytes, links)


def rabenseifner(size, nbytes, links):
    """Halving and doubling, among a power of two."""
    power = power_below(size)
    rounds = 2 * rounds_to_all(power)
    sent = 2 * (power - 1) / power * nbytes
    return rounds * links.alpha + links.beta * sent + folding(size, nbytes, links)


def ring(size, nbytes, links):
    """Chunks, 2 (P-1) times."""
    return 2 * (size - 1) * (links.alpha + links.beta * nbytes / size)


PRICES = {price.__name__: price for price in (recursive_doubling, rabenseifner, ring, binomial)}


def choose(size, nbytes, links):
    """The name of the cheapest: what `dist.all_reduce(tensor, algorithm=…)` takes."""
    return min(PRICES, key=lambda name: PRICES[name](size, nbytes, links))
