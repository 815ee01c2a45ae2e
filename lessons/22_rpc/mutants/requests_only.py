"""A property in which only requests are lost

A lost request was not carried out, so to ask again is harmless. Answers that are lost make the difference, and it draws none.

Caught by: rejects wrong ones
Passes: correct, at most once, answered, accepts right ones
"""


# BLANK 5: no fault on the way back
@given(requests=st.lists(st.sampled_from(["fine", "lost"]), max_size=5))
def property_of_calls(run, requests):
    ran, told = run(requests, [])
    assert sorted(ran) == [*"abcd"]
    assert told == [*"abcd"]


# END
