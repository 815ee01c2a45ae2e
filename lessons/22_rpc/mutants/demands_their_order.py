"""A property that counts what nobody promised

It demands that calls are carried out in their order. A request that was lost comes after the next one, and that is right.

Caught by: accepts right ones
Passes: correct, at most once, answered, rejects wrong ones
"""

# BLANK 5: in their order
FATES = st.lists(st.sampled_from(["fine", "lost", "twice", "late"]), max_size=5)


@given(requests=FATES, answers=FATES)
def property_of_calls(run, requests, answers):
    ran, told = run(requests, answers)
    assert ran == [*"abcd"]
    assert told == [*"abcd"]


# END
