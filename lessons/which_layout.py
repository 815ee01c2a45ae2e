# %% [markdown] Which layout, and why?
# Does Llama 3 with 70 billion parameters fit on 64 GPUs of the kind H100? Which layout trains it fastest? In the terminal the answer is
# one command, `mtd plan llama3-70b --gpus 64 --device h100`. This notebook takes the way to it, with a smaller model at the end so
# that all cells run within a minute. No GPU is needed: the training step runs in [shapes](../docs/simulator_shapes.md#shapes-without-numbers).

# %% Does it fit?
from mtd.planning import clusters, formula, model_files, reasons, search
from mtd.planning.layouts import TrainingLayout

GIB = 1 << 30
large = model_files.read("llama3-70b")
gpus = clusters.cluster("h100", 64, "nvlink8+400G")
rows, refused = search.estimated(large, gpus)
print(
    f"{large.parameters / 1e9:.1f} billion parameters; a GPU has {gpus.device.memory / GIB:.0f} GiB"
)
print(f"by a plain formula {len(rows)} layouts fit, and {refused} do not")


# %% [markdown] Memory by category
# Each parameter takes 4 bytes, and AdamW keeps 8 more. Whole replicas have all of them on each GPU.


# %%
def show_memory(model, layout):
    held = formula.memory(model, layout)
    parts = ", ".join(f"{name} {size / GIB:.1f}" for name, size in held.items())
    print(f"{layout.short:26} {sum(held.values()) / GIB:7.1f} GiB: {parts}")


for layout in (
    TrainingLayout(replicas=64),
    TrainingLayout(shards=64),
    TrainingLayout(shards=64, checkpoint="full"),
    TrainingLayout(tensor=8, shards=8),
    TrainingLayout(shards=8, tensor=4, pipeline=2),
):
    show_memory(large, layout)

# %% [markdown]
# Shards (FSDP) divide what is kept between steps. Tensor parallelism and a pipeline divide the layers, and so also what a layer
# leaves for its backward pass. To compute it again (`full`) takes a third more of the time.

# %% [markdown] How fast is each kind of parallelism?
# A smaller model, and two nodes of four GPUs with a slow cable between them.

# %%
small = model_files.read("llama3-8b").changed(
    layers=4, width=2048, heads=16, kv_heads=16, ffn=5632, words=8192, sequence=2048, batch=32
)
net = "two_level:nodes=2,gpus=4,intra=2us/300GB/s,inter=5us/100Gb/s"
nodes = clusters.cluster("A100-40-SXM", 8, net)
layouts = {
    "shards over all": TrainingLayout(shards=8, micro=4, zero=2),
    "each layer cut over all": TrainingLayout(tensor=8, micro=4),
    "a pipeline of four": TrainingLayout(pipeline=4, shards=2),
    "a pipeline of the nodes": TrainingLayout(pipeline=2, shards=4),
}


def simulated(cluster):
    found = {name: search.simulated(small, each, cluster) for name, each in layouts.items()}
    for name, row in sorted(found.items(), key=lambda one: one[1].seconds):
        computes, sends = row.shares["computing"], row.shares["sending"]
        print(
            f"{name:24} {1000 * row.seconds:6.1f} ms, computing {computes:.0%}, sending {sends:.0%}, {row.peak / GIB:.1f} GiB"
        )
    return found


found = simulated(nodes)

# %% [markdown] When does a GPU compute, and when does it wait?
# One GPU of each stage of a pipeline. Each block is an operation, and each gap a wait or a message. The lines tell the longest chain.

# %%
import matplotlib.pyplot as plt

from mtd.timelines.timeline import ComputedSpan

pipeline = layouts["a pipeline of the nodes"]
report = search.step(small, pipeline, nodes, layers=2, micro=4, fold=False, timelines=True)
print(report.timelines)
_, axes = plt.subplots(figsize=(9, 2))
for place, line in enumerate(report.timelines.ranks):
    if line.rank in (0, 4):
        blocks = [
            (s.start / 1e9, (s.end - s.start) / 1e9)
            for s in line.spans()
            if isinstance(s, ComputedSpan)
        ]
        axes.broken_barh(blocks, (place - 1, 2))
        axes.text(0, place + 1.2, f"rank {line.rank}")
axes.set_xlabel("ms")
axes.set_yticks([])
plt.show()

# %% What if the cable is eight times slower?
slower = simulated(clusters.cluster("A100-40-SXM", 8, net, slower=8))


# %% The answer, and why the second is slower
def answer(found):
    best, second = sorted(found.values(), key=lambda row: row.seconds)[:2]
    print(
        f"{best.layout.short}; beside it {second.layout.short}: {reasons.why_slower(second, best)}"
    )


answer(found)
answer(slower)

# %% [markdown] Where to go on
# `mtd contest 30` lets you choose layouts for five models, and tells what takes longer than in the fastest that we know.
# [Plans](../docs/plan.md) says what to believe of such numbers. `mtd plan … --page plan.html` draws a step of the fastest layout.
