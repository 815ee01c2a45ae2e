"""`mtd road`: which of our files and functions one call goes through, in order.

counting     the profiler's notes: functions entered, their files and lines
trips        the calls that are followed, how far each may go at most, and each in a few sentences (`stories.toml`)
command      `mtd road all_reduce`
"""
