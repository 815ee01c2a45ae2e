"""`mtd diff a.json b.json`, and `mtd plan --against a.json`: how far layouts moved, and by what."""

from __future__ import annotations

from mtd.cli.page import Page
from mtd.planning import saved_plans
from mtd.planning.saved_plans import GIB, SHOWN, SavedPlan


def show(say: Page, before: SavedPlan, after: SavedPlan) -> bool:
    """Whether they differ: in the layouts that both have, or in the fastest one."""
    moved = saved_plans.common(before, after)
    say.say(f"{before.model} on {before.cluster}")
    say.say(f"→ {after.model} on {after.cluster}")
    if before.is_fitted != after.is_fitted:
        ideal = after if before.is_fitted else before
        say.say(
            f"Careful: nothing is fitted for {ideal.cluster.partition(',')[0]}, so its products run at the peak. The other plan has "
            "an efficiency that was measured. So the ratios say nothing of the devices."
        )
    say.say()
    for each in moved[:SHOWN]:
        part, seconds = each.part
        why = f"{part} {seconds:+.2g} s" if each.change else "the same"
        then, now = (f"{row.peak / GIB:.0f}" for row in each)
        held = "" if then == now else f", {then} → {now} GiB"
        say.as_it_is(
            f"{each.after.layout.short:<26} {each.before.seconds:>8.3g} → {each.after.seconds:<8.3g} s "
            f"{each.change:+6.1%}  {why}{held}"
        )
    if len(moved) > SHOWN:
        say.as_it_is(f"   … and {len(moved) - SHOWN} more")
    count = "1 layout is" if len(moved) == 1 else f"{len(moved)} layouts are"
    say.say(f"{count} simulated in both.")
    one, other = before.first, after.first
    change = other.seconds / one.seconds - 1
    changed = f" ({one.layout.short} then, {other.layout.short} now)"
    which = "" if one.layout == other.layout else changed
    say.say(f"Fastest against fastest{which}: {change:+.1%} seconds.")
    return bool(change) or one.layout != other.layout or any(each.change for each in moved)
