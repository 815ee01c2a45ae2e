"""Layouts of a training step on eight GPUs: each answer is run by the library's own wrappers, as `mtd plan` does."""

from dataclasses import dataclass
from functools import cache

from mtd.course.contest import NotAdmitted
from mtd.planning import clusters, layouts, model_files, reasons, search
from mtd.planning.layouts import TrainingLayout

ABOUT = "layouts of a training step on eight GPUs: time ÷ what no layout can beat"
COLUMN = "memory"
UNIT = "GiB on the fullest GPU"
PROOF = """Every token passes each matrix once forwards and twice backwards, with a product and a sum for each weight: 6
operations for a weight and a token. Attention compares each token with those before it, on average half a sequence: 6 · sequence ·
width operations for a token and a layer. No GPU computes above its peak, and eight of them share the work. Messages, waiting and the
optimizer only add to it, so on a slow network nobody reaches the bound."""
GIB = 1 << 30
GPUS = 8
MICRO, STAGES = (1, 2, 4, 8), (1, 2, 4)
DIVIDES = {"fsdp": "shards", "dp": "replicas", "tp": "tensor", "pp": "pipeline"}
WORDS = {"micro": 1, "cp": 1, "stages": 1, "checkpoint": "none", "keep": False}


@dataclass(frozen=True)
class Task:
    """The argument of an answer. Bytes, bytes a second, operations a second."""

    name: str
    layers: int
    width: int
    ffn: int  # numbers in the middle of each layer's MLP
    words: int
    sequence: int
    batch: int  # sequences in a step
    memory: float  # bytes of a GPU
    node: int  # GPUs of a node
    inside: float  # bytes a second of a GPU's link within its node
    outside: float  # and of that to other nodes
    gpus: int = GPUS
    peak: float = 312e12  # an A100's products of bfloat16
    bandwidth: float = 1.555e12  # of its memory

    @property
    def layer(self):
        """Weights of a layer."""
        return 4 * self.width**2 + 3 * self.width * self.ffn

    @property
    def parameters(self):
        """Weights of all layers, the embedding and the logits."""
        return self.layers * self.layer + 2 * self.words * self.width


@dataclass(frozen=True)
class Outcome:
    time: float  # ms
    memory: float  # GiB
    said: str
    why: str  # it is slower than the fastest that we know


RACES = (
    Task("one node", 4, 2048, 5632, 8192, 2048, 32, 40 * GIB, 8, 300e9, 25e9),
    Task("little memory", 4, 4096, 14336, 32000, 4096, 16, 8 * GIB, 8, 25e9, 25e9),
    Task("slow cable", 4, 2048, 5632, 8192, 2048, 32, 40 * GIB, 4, 300e9, 1.25e9),
    Task("two long sequences", 4, 2048, 5632, 8192, 16384, 2, 40 * GIB, 8, 300e9, 25e9),
    Task("eight houses", 8, 2048, 5632, 8192, 2048, 32, 40 * GIB, 1, 300e9, 6.25e9),
)  # fmt: skip
FASTEST = {  # that we know
    "one node": TrainingLayout(shards=8, micro=4, zero=2),
    "little memory": TrainingLayout(shards=8, micro=2, checkpoint="full", zero=2),
    "slow cable": TrainingLayout(replicas=4, pipeline=2),
    "two long sequences": TrainingLayout(shards=4, tensor=2, context=2, zero=2),
    "eight houses": TrainingLayout(pipeline=8),
}


def least(task):
    """Milliseconds; PROOF says why."""
    weights = task.layers * task.layer + task.words * task.width
    each = 6 * weights + 6 * task.layers * task.sequence * task.width
    return 1000 * each * task.batch * task.sequence / task.gpus / task.peak


def play(function, task):
    row = simulated(read(function(task), task), task)
    if not row.fits:
        raise NotAdmitted(
            f"{row.layout.short} does not fit: {held(row)}, and a GPU has {task.memory / GIB:g}"
        )
    spent = ", ".join(f"{name} {row.shares[name]:.0%}" for name in reasons.WORDS)
    gib = round(row.peak / GIB, 1)
    return Outcome(
        round(1000 * row.seconds, 6), gib, f"{1000 * row.seconds:.1f} ms, {spent}", why(row, task)
    )


def held(row):
    """The memory of the fullest GPU, in words."""
    parts = ", ".join(f"{name} {size / GIB:.1f}" for name, size in row.memory.items() if size)
    return f"its fullest GPU holds {row.peak / GIB:.1f} GiB ({parts})"


def why(row, task):
    """The difference from the fastest layout that we know, in words."""
    known = FASTEST.get(task.name)
    if known is None:
        return ""
    best = simulated(known, task)
    if row.seconds <= best.seconds:
        return "No layout that we know is faster."
    return (
        f"The fastest that we know takes {1000 * best.seconds:.1f} ms. With yours "
        f"{reasons.why_slower(row, best)}. Its fullest GPU holds {best.peak / GIB:.1f} GiB, and yours "
        f"{row.peak / GIB:.1f} of {task.memory / GIB:g}."
    )


# ----------------------------------------------------------------------------- is the answer a layout?


def read(answer, task):
    """The layout; NotAdmitted if it is none, or cannot be."""
    known = [*DIVIDES, *WORDS]
    if not isinstance(answer, dict):
        raise NotAdmitted(
            f'an answer is a dictionary like {{"fsdp": 8, "micro": 2}}, not {answer!r}'
        )
    for word in answer:
        if word not in known:
            near = model_files.nearest(str(word), known)
            raise NotAdmitted(f"a layout has no {word!r}{near}; it has {', '.join(known)}")
    given = {**dict.fromkeys(DIVIDES, 1), **WORDS, **answer}
    for word in (*DIVIDES, "micro", "cp", "stages"):
        value = given[word]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise NotAdmitted(f"{word} is a whole number above 0, not {value!r}")
    for word, allowed in (
        ("micro", MICRO),
        ("stages", STAGES),
        ("checkpoint", layouts.CHECKPOINTS),
        ("keep", (False, True)),
    ):
        if given[word] not in allowed:
            raise NotAdmitted(f"{word} is {', '.join(map(str, allowed))}, not {given[word]!r}")
    layout = TrainingLayout(
        **{name: given[word] for word, name in DIVIDES.items()}, micro=given["micro"], context=given["cp"],
        checkpoint=given["checkpoint"], stages=given["stages"], zero=2 if given["keep"] else 3,
        schedule="Interleaved1F1B" if given["stages"] > 1 else "1F1B",
    )  # fmt: skip
    for fault in layouts.faults(layout, model_of(task), task.gpus):
        raise NotAdmitted(fault)
    return layout


# ----------------------------------------------------------------------------------- what it takes


def model_of(task):
    return model_files.ModelSizes(
        task.name, "llama", task.layers, task.width, task.width // 128, task.words, task.sequence, task.batch,
        ffn=task.ffn,
    )  # fmt: skip


def cluster_of(task):
    inside, outside = (f"{rate / 1e9:g}GB/s" for rate in (task.inside, task.outside))
    net = f"two_level:nodes={task.gpus // task.node},gpus={task.node},intra=2us/{inside},inter=5us/{outside}"
    return clusters.cluster("A100-40-SXM", task.gpus, net, memory=task.memory)


@cache
def simulated(layout, task):
    """As `mtd plan` simulates it, by one rank of each role."""
    return search.simulated(model_of(task), layout, cluster_of(task))


# ------------------------------------------------------------------------------------ simple answers


def all_shards(task):
    """FSDP over all GPUs, in one micro-batch, and everything is computed again."""
    data = min(task.gpus, task.batch)
    micro = task.batch // data
    return {"fsdp": data, "tp": task.gpus // data, "micro": micro, "checkpoint": "full"}


def as_stages(task):
    """A pipeline of as many stages as there are layers, the rest FSDP, and everything is computed again."""
    stages = min(task.gpus, task.layers)
    data = min(task.gpus // stages, task.batch)
    return {"pp": stages, "fsdp": data, "tp": task.gpus // (stages * data), "checkpoint": "full"}


SIMPLE = {"FSDP, compute again": all_shards, "as many stages as can be": as_stages}
