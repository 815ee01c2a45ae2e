"""A property in which only requests are lost

A lost request was not carried out, so to ask again is harmless. Answers that are lost make the difference, and it draws none.

Caught by: kills
Passes: right, at most once, answered, spares
"""


# BLANK 5: no fault on the way back
@given(requests=st.lists(st.sampled_from(["fine", "lost"]), max_size=5))
def property_of_calls(run, requests):
    ran, told = run(requests, [])
    assert sorted(ran) == [*"abcd"]
    assert told == [*"abcd"]


# END
