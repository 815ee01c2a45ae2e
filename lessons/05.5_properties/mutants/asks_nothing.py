"""A property that compares nothing

It draws mailboxes, calls the program, and looks at no result. It passes for every program, and looks like a good test. If its author
breaks the program once and sees nothing fail, the author finds it at once.
Caught by: rejects wrong ones
Passes: draws, accepts right ones, shrinks
Seen: https://github.com/rustledger/rustledger/pull/1971
Seen: https://github.com/rustic-ai/uni-db/issues/205
"""


# BLANK 2: it runs
@given(
    mailbox=arrivals(),
    src=st.none() | st.integers(0, RANKS - 1),
    tag=st.integers(0, TAGS - 1),
)
def property_of_take(take, mailbox, src, tag):
    before = len(mailbox)
    take(mailbox, src, tag)
    assert len(mailbox) <= before


# END
