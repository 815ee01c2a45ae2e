"""Gives itself more memory.

Refused: it may not change .memory of something that it was given
"""


def layout(task):
    task.memory = 10**15
    return {"dp": task.gpus}
