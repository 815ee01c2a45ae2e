"""A mailbox with one message at most

There is nothing to choose in it, so a program that chooses wrongly is never found.
Caught by: draws, rejects wrong ones
Passes: accepts right ones, shrinks
"""

# BLANK 1: short ones
senders, tags = st.integers(0, RANKS - 1), st.integers(0, TAGS - 1)
return st.lists(st.builds(Message, senders, tags), max_size=1)
# END
