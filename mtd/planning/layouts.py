"""A layout: how a model and its batch are divided among GPUs.

    ranks = pipeline × replicas × shards × tensor        the last one varies fastest: it stays within a node

`shards` ranks share the parameters as FSDP does; `replicas` of them hold the same ones, and sum their gradients. Of the
shards, `context` neighbours have parts of the same sequences.

    zero = 3    parameters are gathered for forward, given back, and gathered again for backward
    zero = 2    gathered parameters stay until backward; gradients are scattered after each micro-batch, as with 3
    zero = 1    parameters and gradients are whole during a step, and only the optimizer is shared ("distributed optimizer")

The stages of (Rajbhandari et al., ZeRO, arXiv:1910.02054). A pipeline keeps all stages whole, for each micro-batch would gather
them again; and one rank alone has nothing to share. So both have zero = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from mtd.planning.model_files import ModelSizes

CHECKPOINTS: Final = ("none", "selective", "op", "full")
SCHEDULES: Final = ("1F1B", "Interleaved1F1B", "GPipe")


@dataclass(frozen=True)
class TrainingLayout:
    """One way to lay a training step out."""

    tensor: int = 1
    pipeline: int = 1
    shards: int = 1
    replicas: int = 1
    micro: int = 1  # sequences of a micro-batch
    checkpoint: str = "none"  # what is computed again: see `transformer`
    schedule: str = "1F1B"
    stages: int = 1  # of each rank
    zero: int = 0  # how much shards share, as below; 0 is the usual: 3, and 1 in a pipeline
    scatters: bool = True  # whether gradients are scattered after each micro-batch, or added up whole until the last
    ahead: bool = False  # whether the next layer is gathered while this one computes, as where a host runs ahead; in
    # a pipeline all stages of a rank are gathered at once, and no stage waits for the sums of another one
    context: int = 1  # ranks that a sequence is cut over; they are shards, too
    experts: int = 1  # ranks that share a layer's experts, of those that share parameters
    sequence: bool = True  # whether tensor parallelism cuts the sequence between layers
    light_ends: bool = False  # whether the first and the last stage have a layer fewer, beside the words and the logits
    offload: str = "none"  # what the memory of the host keeps: see `offloading`

    def __post_init__(self) -> None:
        is_whole = self.shards == 1 or (self.pipeline > 1 and self.zero in (0, 2))
        object.__setattr__(self, "zero", 1 if is_whole else self.zero or 3)
        if self.zero == 1 or self.pipeline > 1:  # a stage of a pipeline sums its micro-batches itself
            object.__setattr__(self, "scatters", False)

    @property
    def ranks(self) -> int:
        return self.tensor * self.pipeline * self.shards * self.replicas

    @property
    def data(self) -> int:
        """How many ranks have data of their own."""
        return self.shards * self.replicas // self.context

    def micro_batches(self, model: ModelSizes) -> int:
        return model.batch // (self.data * self.micro)

    @property
    def all_stages(self) -> int:
        return self.pipeline * self.stages

    def layers(self, each: int) -> int:
        """Those of a model with so many in each stage."""
        return each * self.all_stages - 2 * self.light_ends

    def __str__(self) -> str:
        return self._in_words(" ", f" {self.stages} stages each" if self.stages > 1 else f" {self.schedule}")

    @property
    def short(self) -> str:
        """As `str`, for a narrow table: a pipeline is 1F1B, or ×2 for two stages on each rank."""
        return self._in_words("", "" if self.schedule == "1F1B" else f"×{self.stages}")

    def _in_words(self, gap: str, schedule: str) -> str:
        counts = {
            "fsdp": self.shards,
            "dp": self.replicas,
            "tp": self.tensor,
            "pp": self.pipeline,
            "cp": self.context,
            "ep": self.experts,
        }
        words = [f"{name}{gap}{n}{schedule * (name == 'pp')}" for name, n in counts.items() if n > 1]
        words += [f"micro{gap}{self.micro}", *[self.checkpoint] * (self.checkpoint != "none")]
        if self.shards > 1 and self.zero != (1 if self.pipeline > 1 else 3):
            words.append(f"zero{self.zero}")
        words += [f"offload {self.offload}"] * (self.offload != "none")
        words += ["whole sums"] * (self.zero > 1 and self.pipeline == 1 and not self.scatters)
        return " ".join(words)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def faults(layout: TrainingLayout, model: ModelSizes, gpus: int) -> Iterator[str]:
    """Why this layout cannot be: each reason names the numbers."""
    if layout.ranks != gpus:
        yield f"{layout} takes {layout.ranks} GPUs, and there are {gpus}"
    if layout.zero not in (1, 2, 3):
        yield f"zero is 1, 2 or 3, not {layout.zero}"
    for name, whole in (
        ("heads", model.heads),
        ("kv_heads", model.kv_heads),
        ("ffn", model.ffn),
        ("words", model.words),
        ("sequence", model.sequence),
        ("width", model.width),
    ):
        if whole % layout.tensor:
            yield f"tp = {layout.tensor} does not divide {name} = {whole}"
    if layout.context > 1:
        if layout.shards % layout.context:
            yield f"cp = {layout.context} does not divide {layout.shards} shards"
        if model.sequence % (2 * layout.context * layout.tensor):
            yield f"cp = {layout.context} does not divide sequence = {model.sequence} in two parts for each rank"
        if not model.is_gated or model.attention == "whole":
            yield "cp needs kind = llama, and attention in tiles"
    if model.layers < layout.layers(1):
        yield f"{model.layers} layers are fewer than {layout.all_stages} stages"
    if layout.experts > 1:
        for name, whole in (("shards", layout.shards), ("experts", model.experts)):
            if whole % layout.experts or not whole:
                yield f"ep = {layout.experts} does not divide {name} = {whole}"
    if model.experts and model.expert_ffn % layout.tensor:
        yield f"tp = {layout.tensor} does not divide expert_ffn = {model.expert_ffn}"
    if model.metrics and layout.tensor * layout.pipeline > 1:
        yield "metrics are computed of whole logits: they need tp = 1 and pp = 1"
    if layout.light_ends and layout.pipeline == 1:
        yield "light ends need a pipeline"
    if model.batch % max(1, layout.data * layout.micro):
        yield (
            f"a batch of {model.batch} is no multiple of {layout.data} ranks with data × micro-batches of "
            f"{layout.micro}"
        )
    if layout.pipeline == 1 and layout.stages > 1:
        yield "several stages of a rank need a pipeline"
    if layout.schedule == "Interleaved1F1B" and layout.pipeline > 1:
        micro = layout.micro_batches(model)
        if layout.stages < 2:
            yield "Interleaved1F1B has two or more stages on a rank"
        if micro % layout.pipeline:
            yield f"Interleaved1F1B: {micro} micro-batches are no multiple of pp = {layout.pipeline}"
    elif layout.stages > 1:
        yield f"{layout.schedule} has one stage on a rank, not {layout.stages}"


def layers_of(model: ModelSizes, layout: TrainingLayout, stage: int) -> range:
    """The layers of one stage. Stages are as equal as can be; the last ones have fewer, for they also have the
    logits. With `light_ends` they are shared as if the words were a layer, and the logits another."""
    least, more = divmod(model.layers + 2 * layout.light_ends, layout.all_stages)
    start = stage * least + min(stage, more) - layout.light_ends
    stop = start + least + (stage < more)
    return range(max(0, start), min(model.layers, stop))
