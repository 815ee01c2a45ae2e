"""Which layout, and why? `mtd contest 30` says how far you are from the bound.

`task` has: layers, width, ffn, words (of the vocabulary), sequence, batch (sequences in a step); layer and parameters
(weights of a layer, and of all); gpus, node (GPUs of a node), inside and outside (bytes a second of a GPU's link within
its node, and to other nodes); memory (bytes of a GPU), bandwidth (of this memory), peak (operations a second).

Return a dictionary. fsdp · dp · tp · pp is the number of GPUs; sizes that you leave out are 1:
    "fsdp"        ranks that share all parameters       "dp"      replicas of these
    "tp"          ranks that cut each layer             "pp"      stages of a pipeline
    "cp"          of the fsdp ranks, those that cut a sequence
    "micro"       sequences of a micro-batch: 1, 2, 4 or 8
    "stages"      of each rank in the pipeline: 1, or 2 or 4 (interleaved)
    "checkpoint"  what is computed again: "none", "selective", "op" or "full"
    "keep"        True: gathered parameters stay until backward
"""


def layout(task):
    """Each layer is cut over all GPUs, and everything is computed again: it fits, and it is slow."""
    return {"tp": task.gpus, "checkpoint": "full"}
