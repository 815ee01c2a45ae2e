"""Examples in a loop

Its author thought of each of them, and of each mistake that they show. Nobody drew a mailbox with two messages alike.
Caught by: accepts right ones, rejects wrong ones
Passes: draws, shrinks
"""


# BLANK 2: by hand
def property_of_take(take):
    for src in range(RANKS):
        for tag in range(TAGS):
            message = Message(src, tag)
            assert take([message], src, tag) is message


# END
