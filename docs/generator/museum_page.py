"""docs/museum.md: every bug of the museum, with its story, the addresses where it was seen, and the lamps that catch it."""

from __future__ import annotations

from mtd.course import museum

MUSEUM = """# The museum of real bugs

{count} bugs that people really had, each re-enacted in a few lines under a check that catches it. Made by `mtd dev build`.

    mtd museum                       all of them
    mtd museum 13/whole_tensor       what one sees, what the ranks did, the line, the cause
    mtd museum --find                only what the ranks did; you choose among causes, or name the line
    mtd museum --property mine.py    you write the check: wrong all_reduces found, less right ones accused

A name links to the code: of a lesson's mutant all of it, or what stands in a blank instead of the solution.
"""


def museum_page() -> str:
    """Every exhibit: what happened, the story, where it was seen, what catches it."""
    everything = museum.exhibits()
    parts, room = [MUSEUM.format(count=len(everything))], ""
    for one in everything:
        if one.room != room:
            room = one.room
            parts.append(f"\n## {f'{one.lesson.number}. {one.lesson.title}' if one.lesson else 'Hangs'}\n")
        folder = f"lessons/{one.lesson.folder.name}/mutants" if one.lesson else "mtd/zoo"
        story = "\n\n".join(" ".join(text.split()) for text in one.story.split("\n\n"))
        seen = ", ".join(f"<{address}>" for address in one.seen)
        parts.append(f"\n### [{one.name}](../{folder}/{one.short}.py)\n\n**{one.title}** {story}".rstrip() + "\n")
        parts.append(f"\nCaught by *{', '.join(one.caught_by)}*. Seen: {seen}\n")
    return "".join(parts)
