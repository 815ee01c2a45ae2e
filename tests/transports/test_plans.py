"""Faults as data: what is written down is read back, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from transports.faults import plans
from transports.faults.plans import Clog, Crash, Fault, Partition, Slow, Strike

instants = st.integers(0, 10**13)
ends = st.none() | st.integers(10**13 + 1, 10**14)
ranks = st.integers(0, 8)
anybody = st.none() | ranks
strikes = st.builds(
    Strike,
    st.sampled_from(["drop", "duplicate", "delay", "reorder", "jitter", "cut"]),
    st.floats(0, 1),
    st.integers(0, 10**12),
    anybody,
    anybody,
    st.none() | st.integers(0, 999),
    instants,
    ends,
)
faults = st.one_of(
    strikes,
    st.builds(Slow, ranks, st.floats(0.01, 100), st.sampled_from(["compute", "network"]), instants, ends),
    st.builds(Partition, st.frozensets(ranks, min_size=1), st.frozensets(ranks, min_size=1), instants, ends),
    st.builds(Clog, ranks, st.sampled_from(["in", "out", "both"]), instants, ends),
    st.builds(Crash, ranks, instants, ends),
)


@given(faults)
def test_a_text_is_its_fault(fault: Fault) -> None:
    assert plans.parse(str(fault)) == fault


def test_how_it_is_written() -> None:
    plan = [
        plans.drop(0.01, src=0),
        plans.drop(src=2, dst=3, number=17),
        plans.delay("1ms", p=0.1),
        plans.delay(0.001),
        plans.reorder(0.05),
        plans.jitter("50us"),
        plans.partition({1, 0}, {2, 3}, at="2ms", heal="5ms"),
        plans.clog(4, until="3ms"),
        plans.slow(3, x=2.5),
        plans.crash(5, at="1.2ms", restart="4ms"),
        plans.cut(dst=1, at=2),
    ]
    assert plans.texts(plan) == (
        "drop=0.01,src=0;drop=2>3#17;delay=1ms,p=0.1;delay=1ms;reorder=1ms,p=0.05;jitter=50us;"
        "partition=0+1|2+3,at=2ms,heal=5ms;clog=4,in,until=3ms;slow=3,x=2.5;"
        "crash=5,at=1200us,restart=4ms;cut=dst=1,at=2s"
    )
    text = "# a plan\n" + plans.texts(plan).replace(";", "\n\n  ")
    assert plans.parse_all(text) == plan


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("explode=3", "is not a fault: it begins with one of slow, drop"),
        ("drop=often", "could not convert|is not a quantity|is no span"),
        ("drop=1.5", "p=1.5 is no probability"),
        ("drop=0.1,colour=red", "there is no colour"),
        ("partition=0+1", "not enough values"),
        ("clog=4,sideways", "'in', 'out' or 'both'"),
        ("slow=3,x=0", "x > 0"),
        ("slow=3,x=nan", "finite x > 0"),
        ("slow=3,x=inf", "finite x > 0"),
        ("slow=3,compute,x=2", "there is no compute"),
        ("crash=5,soon", "there is no soon"),
        ("delay=1e999999999ms", "is not a quantity"),
        ("delay=1e300ms", "not a quantity that occurs"),
        ("crash=5", "at"),
        ("crash=5,at=3ms,restart=2ms", "cannot be restarted before it has crashed"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        plans.parse(text)
    assert text in str(caught.value)


def test_a_plan_is_checked_against_its_world() -> None:
    assert plans.check(["drop=0.5", plans.clog(2)], 3) == [plans.drop(0.5), plans.clog(2)]
    with pytest.raises(ValueError, match="clog=3,in names rank 3 in a world of 3"):
        plans.check([plans.clog(3)], 3)
    with pytest.raises(TypeError, match="is not a fault"):
        plans.check([0.5], 3)
