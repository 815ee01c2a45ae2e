"""A property whose model forgets that zeros can be right

It takes a record for torn as soon as the cut is before its end. But if its last bytes are zeros, a hole behind the cut makes
it whole again.

Caught by: accepts right ones
Passes: correct, rejects wrong ones
"""


# BLANK 3: only what is before the cut
@given(
    bodies=st.lists(st.binary(max_size=6), max_size=4),
    cut=st.integers(0, 60),
    hole=st.integers(0, 20),
)
def property_of_records(records, bodies, cut, hole):
    log = b"".join(map(record, bodies))
    ends = [len(b"".join(map(record, bodies[:n]))) for n in range(len(bodies) + 1)]
    whole = max(n for n, end in enumerate(ends) if end <= cut)
    found, place = records(log[:cut] + bytes(hole), 0)
    assert found == bodies[:whole] and place == ends[whole]
    assert records(log, place) == (bodies[whole:], len(log))


# END
