"""A property that forbids what is right

It demands a message from every mailbox, although there may be none that matches. Such a test fails now and then, and is then
switched off.
Caught by: accepts right ones
Passes: draws, rejects wrong ones, shrinks
Seen: https://github.com/RichieHakim/ROICaT/pull/634
"""


# BLANK 2: there is always one
@given(
    mailbox=arrivals(),
    src=st.none() | st.integers(0, RANKS - 1),
    tag=st.integers(0, TAGS - 1),
)
def property_of_take(take, mailbox, src, tag):
    before = list(mailbox)
    taken = take(mailbox, src, tag)
    assert taken in before and taken.tag == tag and src in (None, taken.src)
    older = before[: before.index(taken)]
    assert not any(m.tag == tag and src in (None, m.src) for m in older)
    assert mailbox == [m for m in before if m is not taken]


# END
