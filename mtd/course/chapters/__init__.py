"""Open chapters: tasks without one right answer, each after a lesson, in the folder `open` of it.

chapter     what the files of one are; which there are
gate        what a learner's file may contain: it answers, and reads nothing else
judging     an answer against the bound, the simple answers, and ours; the result is a `contest.Contest`
"""
