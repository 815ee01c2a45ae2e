"""Lesson 5.5: a strategy that draws what matters, a property that accepts and rejects, a list made small."""

import itertools

import matching
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy
from matching import Message

from mtd.course import lamp
from mtd.course.property_trial import accepts, rejects

EXAMPLES = 200


# --------------------------------------------------------------------------------- the strategy


def drawn():
    """The mailboxes that arrivals() draws in EXAMPLES examples."""
    found, strategy = [], matching.arrivals()
    assert isinstance(strategy, SearchStrategy), (
        f"arrivals() gives {strategy!r}, expected a strategy such as st.lists(…)"
    )

    @seed(1)
    @settings(
        max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def draw(mailbox):
        found.append(mailbox)

    draw()
    return found


@lamp("draws")
def draws():
    """Mailboxes of all lengths, all ranks and tags, and messages that look alike."""
    mailboxes = drawn()
    for mailbox in mailboxes:
        assert isinstance(mailbox, list), f"arrivals() draws {mailbox!r}, expected a list"
        for one in mailbox:
            assert isinstance(one, Message), (
                f"arrivals() draws a list with {one!r}, expected messages"
            )
            known = one.src in range(matching.RANKS) and one.tag in range(matching.TAGS)
            assert known, f"arrivals() draws {one}: there are ranks 0 to 3 and tags 0 to 2"
    for what, is_there in WANTED:
        assert any(map(is_there, mailboxes)), (
            f"in {EXAMPLES} examples arrivals() never draws {what}"
        )


def pairs(mailbox):
    return itertools.combinations(mailbox, 2)


WANTED = (
    ("an empty mailbox", lambda mailbox: not mailbox),
    ("a mailbox with one message", lambda mailbox: len(mailbox) == 1),
    ("a mailbox with five messages or more", lambda mailbox: len(mailbox) >= 5),
    ("a message from rank 0", lambda mailbox: any(m.src == 0 for m in mailbox)),
    ("a message from rank 3", lambda mailbox: any(m.src == 3 for m in mailbox)),
    ("a message with tag 2", lambda mailbox: any(m.tag == 2 for m in mailbox)),
    ("two messages with the same sender and tag",
     lambda mailbox: any((a.src, a.tag) == (b.src, b.tag) for a, b in pairs(mailbox))),
    ("two messages with the same tag, from different ranks",
     lambda mailbox: any(a.tag == b.tag and a.src != b.src for a, b in pairs(mailbox))),
    ("two messages of one rank, with different tags",
     lambda mailbox: any(a.tag != b.tag and a.src == b.src for a, b in pairs(mailbox))),
)  # fmt: skip


# --------------------------------------------------------------------------------- the property


@lamp("accepts right ones", star=2)
def accepted():
    """Four right ways to take a message pass your property."""
    try:
        accepts(matching.property_of_take, RIGHT)
    except AssertionError as error:
        if expects_no_change():
            raise AssertionError(
                f"{error}\n    It passes for a program that leaves the message in the mailbox. take changes the list: keep a "
                "copy of it before the call"
            ) from error
        raise


def expects_no_change():
    """Whether the property is one of a take that only looks."""
    try:
        accepts(matching.property_of_take, [leaves_it])
    except Exception:
        return False
    return True


@lamp("rejects wrong ones", star=3)
def rejected():
    """Nine wrong ones fail it, each by an assert of yours."""
    rejects(matching.property_of_take, WRONG)


def fits(message, src, tag):
    return message.tag == tag and src in (None, message.src)


def by_place(mailbox, src=None, tag=0):
    """It looks for the place, and pops what is there."""
    place = next((at for at, message in enumerate(mailbox) if fits(message, src, tag)), None)
    return None if place is None else mailbox.pop(place)


def in_two_parts(mailbox, src=None, tag=0):
    """It makes one list of what matches and one of the rest, and writes the rest back."""
    found = [message for message in mailbox if fits(message, src, tag)]
    mailbox[:] = [message for message in mailbox if message not in found[:1]]
    return found[0] if found else None


def from_the_end(mailbox, src=None, tag=0):
    """It looks from the newest to the oldest, and keeps the last that it finds."""
    found = None
    for message in reversed(mailbox):
        if fits(message, src, tag):
            found = message
    if found is not None:
        mailbox.remove(found)
    return found


def newest_first(mailbox, src=None, tag=0):
    """Takes the newest message that matches."""
    mailbox.reverse()
    taken = by_place(mailbox, src, tag)
    mailbox.reverse()
    return taken


def any_tag(mailbox, src=None, tag=0):
    """Takes the oldest message of this sender, whatever its tag is."""
    found = next((m for m in mailbox if src in (None, m.src)), None)
    if found is not None:
        mailbox.remove(found)
    return found


def any_source(mailbox, src=None, tag=0):
    """Takes the oldest message with this tag, from any sender."""
    return by_place(mailbox, None, tag)


def rank_0_is_nobody(mailbox, src=None, tag=0):
    """Reads src=0 as "from anybody", because 0 is false in Python."""
    return by_place(mailbox, src or None, tag)


def none_is_rank_0(mailbox, src=None, tag=0):
    """Reads src=None as rank 0."""
    return by_place(mailbox, src or 0, tag)


def smallest_rank_first(mailbox, src=None, tag=0):
    """Takes a message of the smallest rank, the oldest of that rank."""
    matching = [message for message in mailbox if fits(message, src, tag)]
    found = min(matching, key=lambda message: message.src, default=None)
    if found is not None:
        del mailbox[next(at for at, message in enumerate(mailbox) if message is found)]
    return found


def leaves_it(mailbox, src=None, tag=0):
    """Returns the message, and leaves it in the mailbox, so that it is received twice."""
    return next((message for message in mailbox if fits(message, src, tag)), None)


def throws_away(mailbox, src=None, tag=0):
    """Throws away older messages that do not match."""
    while mailbox:
        message = mailbox.pop(0)
        if fits(message, src, tag):
            return message
    return None


def to_the_end(mailbox, src=None, tag=0):
    """Puts older messages that do not match behind the others."""
    for _ in range(len(mailbox)):
        message = mailbox.pop(0)
        if fits(message, src, tag):
            return message
        mailbox.append(message)
    return None


RIGHT = (matching.take, by_place, in_two_parts, from_the_end)
WRONG = (
    newest_first, any_tag, any_source, rank_0_is_nobody, none_is_rank_0, smallest_rank_first, leaves_it, throws_away,
    to_the_end,
)  # fmt: skip


# --------------------------------------------------------------------------------- the shrinker


def tags_of(mailbox):
    return [message.tag for message in mailbox]


FAULTS = (
    ("a list fails if 7 is in it", lambda numbers: 7 in numbers, [3, 7, 7, 1]),
    ("a list fails if it has two equal numbers", lambda numbers: len({*numbers}) < len(numbers), [1, 2, 3, 2, 1, 5, 2]),
    ("a list fails if its sum is above 10", lambda numbers: sum(numbers) > 10, [1, 2, 3, 4, 5]),
    ("every list fails", lambda numbers: True, [1, 2, 3]),
    ("a list fails if it has 5 after 4 after 3", lambda n: [x for x in n if x in (3, 4, 5)][:3] == [3, 4, 5], [3, 1, 4, 2, 5]),
    ("a list fails if the number of its elements is even, and 9 is in it",
     lambda numbers: len(numbers) % 2 == 0 and 9 in numbers, [9, 2, 4, 6]),
)  # fmt: skip


@lamp("shrinks", star=2)
def shrinks():
    """The list that remains still fails, and does not if any one element is left out."""
    for words, fails, example in FAULTS:
        given_to_it = list(example)
        small = matching.shrunk(given_to_it, at_most(200, fails, words))
        where = f"{words}: shrunk({example}, …) is {small!r}"
        assert isinstance(small, list), f"{where}, expected a list"
        assert given_to_it == example, f"{where}, and the example itself has become {given_to_it}"
        rest = iter(example)
        assert all(one in rest for one in small), (
            f"{where}, which cannot be had by leaving out elements"
        )
        assert fails(small), f"{where}, and that does not fail"
        for at in range(len(small)):
            shorter = small[:at] + small[at + 1 :]
            assert not fails(shorter), f"{where}, and {shorter} fails, too"


def at_most(times, fails, words):
    """The same, but after so many calls it says that there is no end: each call shortens the list, or goes on in it."""
    calls = itertools.count(1)

    def counted(shorter):
        assert next(calls) <= times, (
            f"{words}: shrunk asked {times} times, at last about {shorter}, and comes to no end"
        )
        return fails(shorter)

    return counted


# --------------------------------------------------------------------------------- questions, picture


def found_by_the_example():
    """Of the nine, by a mailbox with one message, which is taken."""

    def example(take):
        for message in [Message(1, 0), Message(2, 1)]:
            assert take([message], message.src, message.tag) is message

    return sum(fails_for(example, wrong) for wrong in WRONG)


def fails_for(check, program):
    try:
        check(program)
    except AssertionError:
        return True
    return False


LONG = [(0, 1), (2, 0), (0, 0), (3, 2), (2, 0), (1, 1), (2, 1)]


def newest_is_wrong(mailbox):
    """Whether newest_first(mailbox, src=2, tag=0) differs from what is right."""
    oldest, taken = by_place([*mailbox], 2, 0), newest_first([*mailbox], 2, 0)
    return taken is not oldest


def size_of_the_smallest():
    return len(matching.shrunk([Message(*one) for one in LONG], newest_is_wrong))


def picture():
    """The lists that shrunk() tries with a wrong `take`, line by line."""
    lines = [
        "A take that prefers the newest is asked for 2:0, of rank 2 with tag 0",
        "",
    ]

    def fails(mailbox):
        is_wrong = newest_is_wrong(mailbox)
        there = "  ".join(f"{m.src}:{m.tag}" for m in mailbox)
        lines.append(f"  {'✘ fails ' if is_wrong else '✔ passes'}  {there}".rstrip())
        return is_wrong

    mailbox = [Message(*one) for one in LONG]
    fails(mailbox)
    small = matching.shrunk(mailbox, fails)
    lines += ["", f"{len(small)} messages remain: none of them can be left out."]
    return "\n".join(line[:80] for line in lines)
