"""Senders and tags may be any numbers

So two messages are hardly ever alike, and many ranks do not exist.
Caught by: draws
Passes: shrinks
"""

# BLANK 1: any numbers
return st.lists(st.builds(Message, st.integers(), st.integers()))
# END
