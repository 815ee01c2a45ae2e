"""Takes twice as many GPUs.

Refused: fsdp 16 micro 1 takes 16 GPUs, and there are 8
"""


def layout(task):
    return {"fsdp": 2 * task.gpus}
