"""Examples in a loop, and a @given above it that draws nothing

Hypothesis has one input, runs the test once, and is content.
Caught by: accepts right ones, rejects wrong ones
Passes: draws, shrinks
"""


# BLANK 2: by hand
@given(nothing=st.none())
def property_of_take(take, nothing):
    for src in range(RANKS):
        for tag in range(TAGS):
            message = Message(src, tag)
            assert take([message], src, tag) is message


# END
