"""A model in a file of a few lines of TOML: what it needs to be built, run and planned.

kind = "llama"        # or "gpt": layer norms, biases, learned positions, no gates; or "vit", below
layers = 80
width = 8192
heads = 64
kv_heads = 8          # as many as heads, if not said
ffn = 28672           # the width inside of the MLP; 4 · width, if not said
words = 128256        # of the vocabulary
sequence = 8192
batch = 2048          # sequences in a step
attention = "tiles"   # if not said; "whole" writes the weights of all pairs to memory, and knows dropout = 0.1
kernels = "usual"     # if not said; "single" as torch runs a layer, "joined" as torch.compile does (see `kernels`)
gradients = "float32" # if not said; or "bfloat16": in which they are summed over the ranks
head = 128            # numbers in a head; width / heads, if not said
tied = true           # the logits' matrix is the words'; two matrices, if not said
experts = 8           # in the place of each MLP; none, if not said
top_k = 2             # experts that a word goes to
expert_ffn = 14336    # the width inside of one; ffn, if not said
shared_experts = 1    # that every word goes to, too
dense_layers = 3      # the first ones, which have an MLP
capacity = 1.25       # slots of an expert, times what it gets on average; 1, if not said
flash = "2"           # which FlashAttention the tiles are, if not said; or "1", "3"
products = "bfloat16" # of the layers' matrices, if not said; or "float8", with its conversions
loss = "usual"        # if not said: torch's own, in float32; or "fused", one kernel that keeps the logits in their type
metrics = 2           # so many times the loss is computed again after a micro-batch, to be shown; 0, if not said

A vision transformer (kind = "vit") is a "gpt" that sees all parts of an image. In the place of words and sequence it has

image = 224           # pixels along each side, of three colours
patch = 16            # pixels along each side of a patch, which is a word here
classes = 1000
pooling = "class"     # if not said: one more position, whose result is classified; or "mean" of all patches
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from transports.plain_text import clean

NUMBERS: Final = {"float32": 4, "bfloat16": 2}  # and their bytes
CHOICES: Final = {
    "kind": ("llama", "gpt", "vit"),
    "attention": ("tiles", "whole"),
    "kernels": ("usual", "single", "joined"),
    "gradients": tuple(NUMBERS),
    "flash": ("1", "2", "3"),
    "products": ("bfloat16", "float8"),
    "loss": ("usual", "fused"),
    "pooling": ("class", "mean"),
}
SHIPPED: Final = Path(__file__).with_name("models")
WHOLE: Final = ("layers", "width", "heads", "words", "sequence", "batch", "kv_heads", "ffn", "head")
IMAGE: Final = ("image", "patch", "classes")  # that a "vit" has in the place of words and sequence
COLOURS: Final = 3
COUNTS: Final = ("experts", "top_k", "expert_ffn", "shared_experts", "dense_layers")
LARGEST: Final = 1 << 48  # of a whole number
NEEDED: Final = ("kind", "layers", "width", "heads", "words", "sequence", "batch")


@dataclass(frozen=True)
class ModelSizes:
    """The sizes of a transformer, and the batch that it is trained with."""

    name: str
    kind: str
    layers: int
    width: int
    heads: int
    words: int
    sequence: int
    batch: int
    kv_heads: int = 0
    ffn: int = 0
    attention: str = "tiles"  # or "whole": the weights of all pairs are written to memory
    dropout: float = 0.0  # of these weights
    gradients: str = "float32"  # in which they are summed over the ranks
    kernels: str = "usual"  # of pointwise operations: or "single", "joined" (see `kernels`)
    head: int = 0
    tied: bool = False
    flash: str = "2"
    products: str = "bfloat16"
    loss: str = "usual"
    metrics: int = 0
    experts: int = 0
    top_k: int = 0
    expert_ffn: int = 0
    shared_experts: int = 0
    dense_layers: int = 0
    capacity: float = 1.0
    image: int = 0
    patch: int = 0
    pooling: str = "class"
    source: str = ""

    def __post_init__(self) -> None:
        heads = self.heads or 1
        usual = {
            "kv_heads": self.heads,
            "ffn": 4 * self.width,
            "head": 0 if self.width % heads else self.width // heads,
        }
        for word, value in usual.items():
            object.__setattr__(self, word, getattr(self, word) or value)
        object.__setattr__(self, "expert_ffn", self.expert_ffn or (self.ffn if self.experts else 0))
        for fault in chain(self._faults(), self._faults_of_experts(), self._faults_of_images()):
            raise ValueError(f"{self.name}: {fault}")

    def _faults(self) -> Iterator[str]:
        if not self.head:
            yield f"heads = {self.heads} does not divide width = {self.width}; say head"
        for word in (*WHOLE, "metrics"):
            if word in WHOLE or getattr(self, word) != 0:
                yield from not_whole(word, getattr(self, word))
        for word, choices in CHOICES.items():
            if getattr(self, word) not in choices:
                said = nearest(str(getattr(self, word)).lower(), choices)
                yield f"{word} should be {' or '.join(choices)}, not {getattr(self, word)!r}{said}"
        if self.attention == "whole" and self.kv_heads != self.heads:
            yield 'attention = "whole" has as many kv_heads as heads'
        if not isinstance(self.dropout, (int, float)) or not 0 <= self.dropout < 1:
            yield f"dropout is at least 0 and below 1, not {self.dropout!r}"
        if self.dropout and self.attention == "tiles":
            yield 'dropout needs attention = "whole"'
        for word, kind, said in (("tied", bool, "true or false"), ("source", str, "a text")):
            if not isinstance(getattr(self, word), kind):
                yield f"{word} is {said}, not {getattr(self, word)!r}"
        if self.heads % self.kv_heads:
            yield f"kv_heads = {self.kv_heads} does not divide heads = {self.heads}"

    def _faults_of_experts(self) -> Iterator[str]:
        for word in [word for word in COUNTS if getattr(self, word) != 0]:
            yield from not_whole(word, getattr(self, word))
            if word != "expert_ffn" and not self.experts:
                yield f"{word} needs experts"
        if not isinstance(self.capacity, (int, float)) or not 0 < self.capacity <= 1000:
            yield f"capacity is above 0 and at most 1000, not {self.capacity!r:.60}"
        if self.experts and not 0 < self.top_k <= self.experts:
            yield f"top_k is 1 to {self.experts}, for so many experts there are, not {self.top_k}"
        if self.experts and not self.is_gated:
            yield 'experts need kind = "llama"'
        if self.dense_layers > self.layers:
            yield f"dense_layers = {self.dense_layers} are more than {self.layers} layers"

    def _faults_of_images(self) -> Iterator[str]:
        if not self.sees_all:
            return
        for word in ("image", "patch"):
            yield from not_whole(word, getattr(self, word))
        if self.image % self.patch:
            yield f"patch = {self.patch} does not divide image = {self.image}"
        if self.attention == "whole":
            yield 'kind = "vit" has attention in tiles'
        if self.tied:
            yield 'tied words need words, which kind = "vit" has not'

    @property
    def sees_all(self) -> bool:
        """Whether attention has no mask, because a word is a part of an image."""
        return self.kind == "vit"

    @property
    def query_width(self) -> int:
        """Numbers of all heads of a word: the model's width, unless a head's size is said."""
        return self.heads * self.head

    @property
    def is_gated(self) -> bool:
        return self.kind == "llama"

    @property
    def layer_matrices(self) -> int:
        """Weights of the matrices in a layer that a word meets: all others are vectors. Of experts those that it goes to."""
        return self._matrices(self.top_k)

    def _matrices(self, experts: int, is_dense: bool = False) -> int:
        attention = 2 * self.width * (self.query_width + self.kv_heads * self.head)
        if self.experts and not is_dense:
            each = 3 * self.width * self.expert_ffn
            return attention + self.experts * self.width + (experts + self.shared_experts) * each
        return attention + (3 if self.is_gated else 2) * self.width * self.ffn

    @property
    def expert_parameters(self) -> int:
        """Those of a layer's experts that ranks may share, all together."""
        return self.experts * 3 * self.width * self.expert_ffn

    @property
    def layer_parameters(self) -> int:
        vectors = 2 * self.width  # the norms
        if not self.is_gated:  # biases of norms and matrices
            vectors += 4 * self.width + self.query_width + 2 * self.kv_heads * self.head + self.ffn
        return self._matrices(self.experts) + vectors

    @property
    def parameters(self) -> int:
        """All of them."""
        ends = (2 - self.tied) * self.words * self.width + self.width
        if self.sees_all:  # patches, the position that is classified, and a bias for each class
            ends += (COLOURS * self.patch**2 + 1 + (self.pooling == "class") - self.words) * self.width + self.words
        if not self.is_gated:
            ends += self.sequence * self.width + self.width
        fewer = self._matrices(self.experts) - self._matrices(0, True)  # in a layer without experts
        return self.layers * self.layer_parameters - self.dense_layers * fewer + ends

    @property
    def flops_per_token(self) -> int:
        """The model's operations for a token, forwards and backwards, without computing anything again. By the usual
        count no mask saves anything in attention (PaLM, arXiv:2204.02311, appendix B)."""
        fewer = self.layer_matrices - self._matrices(0, True)
        ends = COLOURS * self.patch**2 if self.sees_all else self.words  # of each patch, or of each word
        matrices = self.layers * self.layer_matrices - self.dense_layers * fewer + ends * self.width
        return 6 * matrices + 12 * self.layers * self.query_width * self.sequence

    def changed(self, **values: Any) -> ModelSizes:
        return replace(self, **values)


def known() -> list[str]:
    """The models that are shipped."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read(name: str) -> ModelSizes:
    """A shipped model by its name, or one's own file by its path. ValueError says in which file what is wrong."""
    path = Path(name)
    if path.suffix.lower() != ".toml":
        if name not in known():
            beside = Path(f"{name}.toml")
            said = f" (perhaps {beside}?)" if _is_file(beside) else nearest(name.lower(), known())
            raise ValueError(
                f"no model is called {name!r}{said}; there are {', '.join(known())}. Your own is a file "
                "such as mine.toml"
            )
        path = SHIPPED / f"{name}.toml"
    try:
        row = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        said = nearest(path.name, [each.name for each in path.parent.glob("*.toml")])
        raise ValueError(f"there is no file {name}{said}") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name!r} is no file of a model: {clean(str(error))}") from None
    allowed, needed = {each.name for each in fields(ModelSizes)} - {"name"}, [*NEEDED]
    if row.get("kind") == "vit":
        needed = [word for word in NEEDED if word not in ("words", "sequence")] + [*IMAGE]
        allowed = allowed - {"words", "sequence"} | {"classes"}
    for word in row:
        if word not in allowed:
            said = nearest(word, allowed)
            raise ValueError(
                f"{name}: a model has no {word!r}{said}; it has {', '.join(needed)}, "
                f"{', '.join(sorted(allowed - {*needed}))}"
            )
    missing = [word for word in needed if word not in row]
    if missing:
        raise ValueError(f"{name}: {' and '.join(missing)} missing; a line is like layers = 32")
    for word in (*WHOLE, *IMAGE):  # also a 0 that stands for "not said" in Python
        for fault in not_whole(word, row[word]) if word in row else ():
            raise ValueError(f"{name}: {clean(fault)}")
    if row["kind"] == "vit":  # its classes are words, and its patches a sequence
        positions = (row["image"] // row["patch"]) ** 2 + (row.get("pooling", "class") == "class")
        row |= {"words": row.pop("classes"), "sequence": positions}
    try:
        return ModelSizes(path.stem, **row)
    except ValueError as error:
        raise ValueError(f"{name}: {clean(str(error)).removeprefix(f'{path.stem}: ')}") from None


def not_whole(word: str, value: object) -> Iterator[str]:
    """The fault of a size that is none."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= LARGEST:
        most = f" and up to {LARGEST:,}" if isinstance(value, int) and value > LARGEST else ""
        yield f"{word} is a whole number above 0{most}, not {value!r:.60}"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def nearest(word: str, known: Iterable[str]) -> str:
    """` (perhaps llama3-8b?)`, or nothing."""
    names = sorted(known)
    found = difflib.get_close_matches(word, names, 2, 0.5) or [n for n in names if word and word in n]
    return f" (perhaps {' or '.join(found[:3])}?)" if found else ""
