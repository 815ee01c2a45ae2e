"""Let the machine look for the input that breaks a program, and make it small.

a strategy       draws inputs: arrivals() draws mailboxes
a property       says what is true of every input, of every program that is right
a shrinker       leaves out of a failing input what it does not need:

    ✘ [0:1, 2:0, 0:0, 2:0, 1:1]  ─▶  ✘ [2:0, 0:0, 2:0]  ─▶  ✘ [2:0, 2:0]     src:tag of each message

The library Hypothesis has all three; you write a shrinker once, to see that it is no magic.
"""

from dataclasses import dataclass

from hypothesis import given, strategies as st

RANKS, TAGS = 4, 3


@dataclass(eq=False)  # two messages are never the same one, whatever is in them
class Message:
    src: int
    tag: int


def take(mailbox, src=None, tag=0):
    """The oldest message with this tag from rank `src`
    (None: from anybody), taken out of the list `mailbox`.

    None if no message matches. All others stay where they are, in their order.
    """
    for message in mailbox:
        if message.tag == tag and src in (None, message.src):
            mailbox.remove(message)
            return message
    return None


def arrivals():
    """A strategy that draws mailboxes: lists of messages
    from ranks 0 to RANKS - 1, with tags 0 to TAGS - 1.
    """
    # BLANK 1: lists of messages (about 2 lines)
    # st.integers(0, 9) draws a number, st.builds(Message, …, …)
    # a message of what two strategies draw, st.lists(…) a list.
    senders, tags = st.integers(0, RANKS - 1), st.integers(0, TAGS - 1)
    return st.lists(st.builds(Message, senders, tags))
    # END


# BLANK 2: here is one example; make it a property of every mailbox, src and tag (about 8 lines)
# Let @given draw them. The program, `take`, comes first. What was in the mailbox before?
@given(
    mailbox=arrivals(),
    src=st.none() | st.integers(0, RANKS - 1),
    tag=st.integers(0, TAGS - 1),
)
def property_of_take(take, mailbox, src, tag):
    """Fails if this `take` is wrong."""
    matching = [m for m in mailbox if m.tag == tag and src in (None, m.src)]
    wanted = matching[0] if matching else None
    others = [m for m in mailbox if m is not wanted]
    taken = take(mailbox, src, tag)
    assert taken is wanted, f"it took {taken}, the oldest that matches is {wanted}"
    assert mailbox == others, f"{mailbox} is left, expected {others}"


# INSTEAD
#| def property_of_take(take):
#|     """Fails if this `take` is wrong."""
#|     for message in [Message(1, 0), Message(2, 1)]:
#|         assert take([message], message.src, message.tag) is message
# END


def shrunk(example, fails):
    """A shorter list for which `fails(list)` is true, too:
    if any one element is left out of it, it is false.

    `example` is a list that fails. It stays as it is.
    """
    # BLANK 3: leave out one element after the other, as long as the rest fails (about 7 lines)
    at = 0
    while at < len(example):
        shorter = example[:at] + example[at + 1 :]
        if fails(shorter):
            example, at = shorter, 0
        else:
            at += 1
    return example
    # END
