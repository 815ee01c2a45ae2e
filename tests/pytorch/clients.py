"""Small programs for packages that stand on PyTorch. Each trains, and gives numbers that do not depend on the wire.

Each makes its group of ranks itself, as such programs do, unless there is one already.
"""

from __future__ import annotations

import tempfile
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def _data() -> TensorDataset:
    features = torch.randn(48, 8, generator=torch.Generator().manual_seed(1))
    return TensorDataset(features, features.sum(1, keepdim=True))


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def accelerate() -> list[Any]:
    from accelerate import Accelerator
    from accelerate.utils import gather_object, set_seed

    set_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = _model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(_data(), batch_size=4, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses: list[Any] = []
    for features, wanted in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(features), wanted)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses += accelerator.gather_for_metrics(loss.detach().reshape(1)).tolist()
    ranks = gather_object([accelerator.process_index])
    assert ranks == list(range(accelerator.num_processes))
    assert accelerator.is_main_process == (dist.get_rank() == 0)
    accelerator.end_training()
    return losses


def fabric() -> list[Any]:
    from lightning.fabric import Fabric

    runner = Fabric(accelerator="cpu", devices=_local_ranks(), strategy="ddp")
    runner.launch()
    model = _model()
    model, optimizer = runner.setup(model, torch.optim.AdamW(model.parameters(), lr=1e-2))
    loader = runner.setup_dataloaders(DataLoader(_data(), batch_size=4, shuffle=False))
    losses: list[Any] = []
    for features, wanted in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(features), wanted)
        runner.backward(loss)
        runner.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        losses.append(float(runner.all_reduce(loss.detach())))
    assert runner.broadcast(runner.global_rank, src=runner.world_size - 1) == runner.world_size - 1
    runner.barrier()
    return losses


def lightning() -> list[Any]:
    import lightning.pytorch as pl

    class Net(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.losses = _model(), []

        def _loss(self, batch: Any) -> torch.Tensor:
            return nn.functional.mse_loss(self.net(batch[0]), batch[1])

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            loss = self._loss(batch)
            self.log("loss", loss, sync_dist=True, on_epoch=True, on_step=False)
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("validation", self._loss(batch), sync_dist=True)

        def on_train_epoch_end(self) -> None:
            self.losses.append(float(self.trainer.callback_metrics["loss"]))

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-2)

    trainer = pl.Trainer(
        accelerator="cpu",
        devices=_local_ranks(),
        strategy="ddp",
        max_epochs=2,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        enable_checkpointing=False,
    )
    net = Net()
    trainer.fit(net, DataLoader(_data(), batch_size=4), DataLoader(_data(), batch_size=4))
    assert trainer.is_global_zero == (dist.get_rank() == 0)
    return [*net.losses, float(trainer.callback_metrics["validation"])]


def trainer() -> list[Any]:
    """transformers' Trainer, on a model that is made from a config."""
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

    set_seed(0)
    config = GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=32, n_positions=16, bos_token_id=0, eos_token_id=1)
    words = torch.randint(0, 32, (48, 8), generator=torch.Generator().manual_seed(1))
    data: Any = [{"input_ids": row, "labels": row} for row in words]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            per_device_train_batch_size=2,
            per_device_eval_batch_size=2,
            max_steps=4,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            learning_rate=1e-2,
        )
        each = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=data, eval_dataset=data[:8])
        each.train()
        losses = [entry["loss"] for entry in each.state.log_history if "loss" in entry]
        return [*losses, each.evaluate()["eval_loss"]]


def _local_ranks() -> int:
    import os

    return int(os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("WORLD_SIZE", "1")))
