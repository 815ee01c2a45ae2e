"""A property of logs that nobody is writing to

It draws many bodies, and each log is whole. It never asks about half a record.

Caught by: rejects wrong ones
Passes: correct, accepts right ones
"""


# BLANK 3: never cut
@given(bodies=st.lists(st.binary(max_size=6), max_size=4))
def property_of_records(records, bodies):
    log = b"".join(map(record, bodies))
    assert records(log, 0) == (bodies, len(log))


# END
