"""`mtd road`: which of our files and functions one call goes through, in order.

counting     the profiler's notes: functions entered, their files and lines
trips        the calls that are followed, and how far each may go at most
stories      each trip in a few sentences
pages        docs/one_call.md, made from the same run
command      `mtd road all_reduce`
"""
