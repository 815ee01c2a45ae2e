"""Every GPU keeps everything: it does not fit.

Refused: dp8 micro2 does not fit: its fullest GPU holds
"""


def layout(task):
    if task.batch < task.gpus:
        return {"tp": task.gpus}
    return {"dp": task.gpus, "micro": 2}
