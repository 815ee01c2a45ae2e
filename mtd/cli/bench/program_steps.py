"""Training steps of programs that many people come with: the same lines for torch and for minitorch_dist.

Sizes are those of the public programs' own defaults, or smaller where a step would take seconds. `small` steps are
those whose tensors are so small that calls cost more than arithmetic.

    nanogpt        Karpathy's nanoGPT, its setting for a laptop: 4 layers, width 128, 64 letters, batch 12
    lstm, gru      PyTorch's example word_language_model: 2 layers of 200, 35 words, batch 20, 2,000 known words
    small_lstm     one layer of 48, 12 words, batch 8 (`programs/word_lstm.py`)
    espcn          PyTorch's example super_resolution: 5×5, 3×3, and sub-pixels, on 4 pictures of 85×85
    vae            PyTorch's example vae: 784-400-20, batch 128
    dcgan          PyTorch's example dcgan: 64×64, both nets, batch 8
    gcn            PyTorch's example gcn: Cora's sizes, 2,708 nodes with 1,433 words each, a dense adjacency
    actor_critic   PyTorch's example reinforcement_learning: an episode of 50 steps, one state at a time
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

Step = Callable[[], Any]


def stepped(optimizer: Any, loss: Step, clip: Step | None = None) -> Step:
    """Gradients of a loss, perhaps bounded, and a step of the optimizer."""

    def step() -> Any:
        optimizer.zero_grad()
        out = loss()
        out.backward()
        if clip is not None:
            clip()
        optimizer.step()
        return out

    return step


def supervised(model: Any, x: Any, y: Any, loss: Any, optimizer: Any) -> Step:
    """One batch and its targets, again and again."""
    return stepped(optimizer, lambda: loss(model(x), y))


def nanogpt(t: Any) -> Step:
    nn, F = t.nn, t.nn.functional
    width, heads, length, letters, rows = 128, 4, 64, 65, 12

    class GptBlock(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.c_attn = nn.Linear(width, 3 * width, bias=False)
            self.c_proj = nn.Linear(width, width, bias=False)
            self.c_fc = nn.Linear(width, 4 * width, bias=False)
            self.mlp_proj = nn.Linear(4 * width, width, bias=False)

        def forward(self, x: Any) -> Any:
            B, T, C = x.size()
            parts = self.c_attn(self.ln_1(x)).split(width, dim=2)
            q, k, v = (part.view(B, T, heads, C // heads).transpose(1, 2) for part in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
            return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x))))

    class GPT(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(letters, width), nn.Embedding(length, width)
            self.h = nn.ModuleList([GptBlock() for _ in range(4)])
            self.ln_f = nn.LayerNorm(width)
            self.lm_head = nn.Linear(width, letters, bias=False)
            self.wte.weight = self.lm_head.weight

        def forward(self, idx: Any, targets: Any) -> Any:
            x = self.wte(idx) + self.wpe(t.arange(0, idx.size(1), dtype=t.long))
            for block in self.h:
                x = block(x)
            logits = self.lm_head(self.ln_f(x))
            return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    model = GPT()
    optimizer = t.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    x, y = t.randint(0, letters, (rows, length)), t.randint(0, letters, (rows, length))

    clip = partial(nn.utils.clip_grad_norm_, list(model.parameters()), 1.0)
    return stepped(optimizer, lambda: model(x, y), clip)


def language_model(t: Any, kind: str) -> Step:
    """`kind`: LSTM or GRU."""
    nn, F = t.nn, t.nn.functional
    words, width, length, rows = 2000, 200, 35, 20

    class RNNModel(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.drop = nn.Dropout(0.2)
            self.encoder = nn.Embedding(words, width)
            self.rnn = getattr(nn, kind)(width, width, 2, dropout=0.2)
            self.decoder = nn.Linear(width, words)

        def forward(self, input: Any, hidden: Any) -> Any:
            output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
            decoded = self.decoder(self.drop(output)).view(-1, words)
            return F.log_softmax(decoded, dim=1), hidden

    model = RNNModel()
    data, targets = t.randint(0, words, (length, rows)), t.randint(0, words, (length * rows,))
    zeros = t.zeros(2, rows, width)
    hidden = (zeros, zeros.clone()) if kind == "LSTM" else zeros

    def step() -> Any:
        model.zero_grad()
        output, _ = model(data, hidden)
        loss = F.nll_loss(output, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        with t.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-1.0)
        return loss

    return step


def small_lstm(t: Any) -> Step:
    nn, F = t.nn, t.nn.functional
    words, width, length, rows = 60, 48, 12, 8
    embedding, layer = nn.Embedding(words, width), nn.LSTM(width, width, batch_first=True)
    head = nn.Linear(width, words)
    parameters = [*embedding.parameters(), *layer.parameters(), *head.parameters()]
    optimizer = t.optim.Adam(parameters, lr=1e-3)
    x, y = t.randint(0, words, (rows, length)), t.randint(0, words, (rows, length))

    def loss() -> Any:
        out, _ = layer(embedding(x))
        return F.cross_entropy(head(out).flatten(0, 1), y.flatten())

    return stepped(optimizer, loss, partial(nn.utils.clip_grad_norm_, parameters, 1.0))


def espcn(t: Any) -> Step:
    nn = t.nn
    model = nn.Sequential(
        nn.Conv2d(1, 64, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 9, 3, padding=1),
        nn.PixelShuffle(3),
    )
    optimizer = t.optim.Adam(model.parameters(), lr=1e-3)
    return supervised(model, t.rand(4, 1, 85, 85), t.rand(4, 1, 255, 255), nn.MSELoss(), optimizer)


def vae(t: Any) -> Step:
    nn, F = t.nn, t.nn.functional

    class VAE(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
            self.fc3, self.fc4 = nn.Linear(20, 400), nn.Linear(400, 784)

        def forward(self, x: Any) -> Any:
            h1 = F.relu(self.fc1(x.view(-1, 784)))
            mu, logvar = self.fc21(h1), self.fc22(h1)
            std = t.exp(0.5 * logvar)
            z = mu + t.randn_like(std) * std
            return t.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    model = VAE()
    optimizer = t.optim.Adam(model.parameters(), lr=1e-3)
    x = t.rand(128, 1, 28, 28)

    def loss() -> Any:
        recon, mu, logvar = model(x)
        BCE = F.binary_cross_entropy(recon, x.view(-1, 784), reduction="sum")
        KLD = -0.5 * t.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return BCE + KLD

    return stepped(optimizer, loss)


def dcgan(t: Any) -> Step:
    nn, F = t.nn, t.nn.functional
    nz, n, rows = 100, 64, 8

    def up(before: int, after: int, stride: int = 2, padding: int = 1) -> list[Any]:
        deconv = nn.ConvTranspose2d(before, after, 4, stride, padding, bias=False)
        return [deconv, nn.BatchNorm2d(after), nn.ReLU(True)]

    def down(before: int, after: int) -> list[Any]:
        conv = nn.Conv2d(before, after, 4, 2, 1, bias=False)
        return [conv, nn.BatchNorm2d(after), nn.LeakyReLU(0.2, inplace=True)]

    generator = nn.Sequential(
        *up(nz, n * 8, 1, 0),
        *up(n * 8, n * 4),
        *up(n * 4, n * 2),
        *up(n * 2, n),
        nn.ConvTranspose2d(n, 3, 4, 2, 1, bias=False),
        nn.Tanh(),
    )
    discriminator = nn.Sequential(
        nn.Conv2d(3, n, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        *down(n, n * 2),
        *down(n * 2, n * 4),
        *down(n * 4, n * 8),
        nn.Conv2d(n * 8, 1, 4, 1, 0, bias=False),
        nn.Sigmoid(),
    )
    of_d = t.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_g = t.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    real, one, zero = t.rand(rows, 3, 64, 64), t.ones(rows), t.zeros(rows)

    def said(pictures: Any, truth: Any) -> Any:
        return F.binary_cross_entropy(discriminator(pictures).view(-1), truth)

    def step() -> Any:
        discriminator.zero_grad()
        said(real, one).backward()
        fake = generator(t.randn(rows, nz, 1, 1))
        said(fake.detach(), zero).backward()
        of_d.step()
        generator.zero_grad()
        loss = said(fake, one)
        loss.backward()
        of_g.step()
        return loss

    return step


def gcn(t: Any) -> Step:
    nn, F = t.nn, t.nn.functional
    nodes, words, hidden, classes = 2708, 1433, 16, 7

    class GCN(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.w1 = nn.Parameter(t.randn(words, hidden) / math.sqrt(words))
            self.w2 = nn.Parameter(t.randn(hidden, classes) / math.sqrt(hidden))

        def forward(self, x: Any, adjacency: Any) -> Any:
            x = F.relu(t.mm(adjacency, t.mm(x, self.w1)))
            return F.log_softmax(t.mm(adjacency, t.mm(F.dropout(x, 0.5), self.w2)), dim=1)

    model = GCN()
    optimizer = t.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    x, adjacency = t.rand(nodes, words), t.rand(nodes, nodes) / nodes
    y, known = t.randint(0, classes, (nodes,)), t.arange(140)

    return stepped(optimizer, lambda: F.nll_loss(model(x, adjacency)[known], y[known]))


def actor_critic(t: Any) -> Step:
    nn, F = t.nn, t.nn.functional
    Categorical = t.distributions.Categorical

    class Policy(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.affine1 = nn.Linear(4, 128)
            self.action_head, self.value_head = nn.Linear(128, 2), nn.Linear(128, 1)

        def forward(self, x: Any) -> Any:
            x = F.relu(self.affine1(x))
            return F.softmax(self.action_head(x), dim=-1), self.value_head(x)

    model = Policy()
    optimizer = t.optim.Adam(model.parameters(), lr=3e-2)

    def loss() -> Any:
        state, saved, rewards = [0.0, 0.1, 0.2, 0.3], [], []
        for _ in range(50):
            probs, value = model(t.tensor(state))
            m = Categorical(probs)
            action = m.sample()
            saved.append((m.log_prob(action), value))
            state = [state[1], state[2], state[3], 0.1 * action.item()]
            rewards.append(1.0)
        R = 0.0
        returns: Any = []
        for r in rewards[::-1]:
            R = r + 0.99 * R
            returns.insert(0, R)
        returns = t.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        policy_losses, value_losses = [], []
        for (log_prob, value), R in zip(saved, returns, strict=True):
            policy_losses.append(-log_prob * (R - value.item()))
            value_losses.append(F.smooth_l1_loss(value, t.tensor([R])))
        return t.stack(policy_losses).sum() + t.stack(value_losses).sum()

    return stepped(optimizer, loss)
