"""PyTorch's example of fully_shard, written anew from its tutorial: begin on `meta`, train, save, and go on from the checkpoint.

`run(f, …)` is the program; `f` has torch's modules or ours. The checkpoint is one whole state, written by rank 0. It is
loaded by `set_model_state_dict` and its kin, or by hand: `distribute_tensor`, and `load_state_dict(assign=True)`.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

WORDS, BATCH, LENGTH = 32, 4, 8


def face_of(name: str) -> SimpleNamespace:
    load = import_module
    return SimpleNamespace(
        torch=load(name),
        nn=load(f"{name}.nn"),
        dist=load(f"{name}.distributed"),
        fsdp=load(f"{name}.distributed.fsdp"),
        tensor=load(f"{name}.distributed.tensor"),
        state=load(f"{name}.distributed.checkpoint.state_dict"),
    )


def transformer(f: Any, layers: int = 2) -> Any:
    torch, nn = f.torch, f.nn
    functional = nn.functional

    class Attention(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, dim: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.wq, self.wk, self.wv = (nn.Linear(dim, dim, bias=False) for _ in range(3))
            self.wo = nn.Linear(dim, dim, bias=False)

        def forward(self, x: Any) -> Any:
            batch, length, dim = x.size()
            q, k, v = (
                w(x).view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
                for w in (self.wq, self.wk, self.wv)
            )
            out = functional.scaled_dot_product_attention(q, k, v, None, 0.0)
            return self.wo(out.transpose(1, 2).contiguous().view(batch, length, -1))

        def reset_parameters(self) -> None:
            for w in (self.wq, self.wk, self.wv, self.wo):
                w.reset_parameters()

    class FeedForward(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, dim: int) -> None:
            super().__init__()
            self.w1, self.gelu, self.w2 = nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)

        def forward(self, x: Any) -> Any:
            return self.w2(self.gelu(self.w1(x)))

        def reset_parameters(self) -> None:
            self.w1.reset_parameters()
            self.w2.reset_parameters()

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, dim: int, heads: int) -> None:
            super().__init__()
            self.attention_norm, self.attention = nn.LayerNorm(dim), Attention(dim, heads)
            self.ffn_norm, self.feed_forward = nn.LayerNorm(dim), FeedForward(dim)

        def forward(self, x: Any) -> Any:
            h = x + self.attention(self.attention_norm(x))
            return h + self.feed_forward(self.ffn_norm(h))

        def reset_parameters(self) -> None:
            for part in (self.attention_norm, self.attention, self.ffn_norm, self.feed_forward):
                part.reset_parameters()

    class Transformer(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, dim: int = 16, heads: int = 2) -> None:
            super().__init__()
            self.tok_embeddings, self.pos_embeddings = nn.Embedding(WORDS, dim), nn.Embedding(LENGTH, dim)
            self.layers = nn.ModuleList(Block(dim, heads) for _ in range(layers))
            self.norm, self.output = nn.LayerNorm(dim), nn.Linear(dim, WORDS, bias=False)

        def forward(self, tokens: Any) -> Any:
            positions = torch.arange(0, tokens.size(1), device=tokens.device)
            h = self.tok_embeddings(tokens) + self.pos_embeddings(positions)
            for layer in self.layers:
                h = layer(h)
            return self.output(self.norm(h)).float()

        def reset_parameters(self) -> None:
            for part in (self.tok_embeddings, self.pos_embeddings, *self.layers, self.norm, self.output):
                part.reset_parameters()

    return Transformer()


def inspect(f: Any, model: Any) -> None:
    assert isinstance(model, f.fsdp.FSDPModule)
    for param in model.parameters():
        assert param.placements == (f.tensor.Shard(0),) and param.dtype == f.torch.float32


def numbers(model: Any) -> dict[str, Any]:
    """Values for each parameter, the same on both sides."""
    found = {}
    for place, (name, p) in enumerate(model.named_parameters()):
        count = p.numel()
        values = 0.3 * np.cos(np.arange(count) * 0.7 + place) + (0.7 if "norm.weight" in name else 0)
        found[name] = values.reshape(tuple(p.shape)).astype("float32")
    return found


def load_model(f: Any, model: Any, full: dict[str, Any], by_hand: bool) -> None:
    if not by_hand:
        options = f.state.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        f.state.set_model_state_dict(model=model, model_state_dict=full, options=options)
        return
    meta = model.state_dict()
    sharded = {}
    for name, tensor in full.items():
        like = meta.get(name)
        part = f.tensor.distribute_tensor(tensor, like.device_mesh, like.placements)
        sharded[name] = f.nn.Parameter(part)
    model.load_state_dict(sharded, strict=False, assign=True)


def load_optim(f: Any, model: Any, optim: Any, full: dict[str, Any], by_hand: bool) -> None:
    if not by_hand:
        options = f.state.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        f.state.set_optimizer_state_dict(model=model, optimizers=optim, optim_state_dict=full, options=options)
        return
    state = {}
    for number, p in enumerate(model.parameters()):
        state[number] = {
            name: f.tensor.distribute_tensor(value, p.device_mesh, p.placements) if getattr(value, "ndim", 0) else value
            for name, value in full["state"][number].items()
        }
    optim.load_state_dict({"state": state, "param_groups": full["param_groups"]})


def full_states(f: Any, model: Any, optim: Any, by_hand: bool, rank: int) -> tuple[Any, Any]:
    if not by_hand:
        options = f.state.StateDictOptions(full_state_dict=True, cpu_offload=True)
        return (
            f.state.get_model_state_dict(model=model, options=options),
            f.state.get_optimizer_state_dict(model=model, optimizers=optim, options=options),
        )
    whole = {name: p.full_tensor().cpu() for name, p in model.state_dict().items()}
    saved = optim.state_dict()
    state = {
        number: {
            name: value.full_tensor().cpu() if isinstance(value, f.tensor.DTensor) else value
            for name, value in each.items()
        }
        for number, each in saved["state"].items()
    }
    return whole, {"state": state, "param_groups": saved["param_groups"]}


def train(f: Any, model: Any, optim: Any, first: int, steps: int, rank: int) -> list[float]:
    losses = []
    for step in range(first, first + steps):
        tokens = (np.arange(BATCH * LENGTH) * (step + 3) + 5 * rank) % WORDS
        x = f.torch.from_numpy(tokens.reshape(BATCH, LENGTH))
        out = model(x)
        loss = f.nn.functional.cross_entropy(out.view(-1, WORDS), x.roll(-1, 1).view(-1))
        loss.backward()
        norm = f.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        norm = norm.full_tensor() if isinstance(norm, f.tensor.DTensor) else norm
        optim.step()
        optim.zero_grad()
        losses += [loss.item(), float(norm)]
    return losses


def sharded(f: Any) -> Any:
    with f.torch.device("meta"):
        model = transformer(f)
    for layer in model.layers:
        f.fsdp.fully_shard(layer)
    f.fsdp.fully_shard(model)
    inspect(f, model)
    return model


def run(f: Any, rank: int, folder: str, by_hand: bool) -> dict[str, Any]:
    torch = f.torch
    model = sharded(f)
    model.to_empty(device="cpu")
    model.reset_parameters()
    with torch.no_grad():
        for name, value in numbers(model).items():
            p = model.get_parameter(name)
            p.copy_(f.tensor.distribute_tensor(torch.from_numpy(value), p.device_mesh, p.placements))
    optim = torch.optim.Adam(model.parameters(), lr=1e-2)
    found: dict[str, Any] = {"begin": train(f, model, optim, 0, 3, rank)}
    states = full_states(f, model, optim, by_hand, rank)
    for name, state in zip(("model", "optim"), states, strict=True):
        if rank == 0:
            torch.save(state, f"{folder}/{name}.pt")
    f.dist.barrier()
    found["on"] = train(f, model, optim, 3, 2, rank)

    model = sharded(f)
    full, optimal = (torch.load(f"{folder}/{name}.pt", weights_only=True) for name in ("model", "optim"))
    load_model(f, model, full, by_hand)
    optim = torch.optim.Adam(model.parameters(), lr=1e-2)
    load_optim(f, model, optim, optimal, by_hand)
    inspect(f, model)
    found["again"] = train(f, model, optim, 3, 2, rank)
    return found
