"""Every name that the tutorials use, and that their users reach for next, exists under torch's path.

The names are those of the tables this floor is responsible for; later floors add theirs. `missing`
is empty, or the failure lists what is not there.
"""

from __future__ import annotations

import importlib
from functools import reduce

import pytest

TENSOR = """
LongTensor FloatTensor DoubleTensor HalfTensor BFloat16Tensor IntTensor
ByteTensor BoolTensor Tensor Size device dtype cat flatten randn zeros ones tensor full manual_seed
no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled save load float16 float32
float64 bfloat16 int8 int16 int32 int64 uint8 bool half double long short
Tensor.random_ Tensor.view Tensor.scatter_ Tensor.split Tensor.view_as Tensor.eq Tensor.argmax
Tensor.sum Tensor.item Tensor.to Tensor.cpu Tensor.cuda Tensor.float Tensor.data Tensor.backward
Tensor.grad Tensor.numpy Tensor.size Tensor.shape
cuda.is_available cuda.device_count Generator einsum bmm gather Tensor.scatter_add_ index_select
Tensor.masked_fill masked_fill where clamp topk sort cumsum unbind roll tril triu norm var std
logsumexp unique Tensor.repeat Tensor.expand allclose equal from_numpy
nn.functional.one_hot nn.functional.pad Tensor.__array__
Tensor.register_hook Tensor.register_post_accumulate_grad_hook Tensor.retain_grad Tensor.detach
autograd.backward autograd.grad autograd.Function
utils.checkpoint.checkpoint get_default_dtype
set_default_dtype get_rng_state set_rng_state finfo iinfo arange linspace eye matmul mm stack chunk
accelerator.is_available accelerator.device_count accelerator.current_accelerator
cuda.memory_allocated cuda.max_memory_allocated cuda.memory_summary cuda.OutOfMemoryError
cuda.set_device cuda.current_device cuda.synchronize cuda.empty_cache cuda.get_device_name
cuda.Stream cuda.Event linalg.norm linalg.vector_norm set_printoptions
"""

NN = """
nn.Module nn.Parameter nn.Conv1d nn.Conv2d nn.BatchNorm1d nn.BatchNorm2d nn.ReLU nn.MaxPool2d
nn.LayerNorm nn.RMSNorm nn.GroupNorm nn.Embedding nn.Flatten nn.ModuleList nn.ModuleDict nn.RNN
nn.LSTM nn.GRU nn.MultiheadAttention nn.TransformerEncoderLayer nn.TransformerEncoder nn.GELU
nn.MSELoss nn.L1Loss nn.SmoothL1Loss nn.CrossEntropyLoss nn.NLLLoss nn.BCELoss nn.BCEWithLogitsLoss
nn.KLDivLoss nn.Module.modules nn.Module.parameters nn.Module.register_buffer nn.Module.train
nn.Module.eval nn.Module.state_dict nn.Module.load_state_dict nn.Module.named_parameters
nn.Module.apply nn.Module.to nn.Module.half nn.Module.float nn.Module.get_submodule
nn.Module.extra_repr nn.Module.register_forward_hook
nn.functional.relu nn.functional.log_softmax nn.functional.nll_loss nn.functional.max_pool2d
nn.functional.cross_entropy nn.functional.mse_loss nn.functional.linear nn.functional.conv2d
nn.functional.scaled_dot_product_attention nn.functional.softmax nn.functional.dropout
nn.init.kaiming_normal_ nn.init.kaiming_uniform_ nn.init.constant_ nn.init.xavier_uniform_
nn.init.normal_ nn.init.uniform_ nn.init.zeros_ nn.init.ones_ nn.init.orthogonal_
nn.utils.clip_grad_norm_ nn.utils.clip_grad_value_
nn.utils.rnn.pad_sequence
optim.SGD optim.Adam optim.AdamW optim.RMSprop optim.Adagrad optim.Optimizer
optim.lr_scheduler.StepLR optim.lr_scheduler.MultiStepLR optim.lr_scheduler.ExponentialLR
optim.lr_scheduler.CosineAnnealingLR optim.lr_scheduler.LambdaLR optim.lr_scheduler.LinearLR
optim.lr_scheduler.ReduceLROnPlateau
utils.data.Dataset utils.data.IterableDataset utils.data.TensorDataset utils.data.Subset
utils.data.random_split utils.data.Sampler utils.data.RandomSampler utils.data.SequentialSampler
utils.data.BatchSampler utils.data.DataLoader utils.data.distributed.DistributedSampler
utils.data.get_worker_info utils.data.ConcatDataset
futures.Future futures.wait_all futures.collect_all futures.Future.then
futures.Future.add_done_callback futures.Future.set_result futures.Future.set_exception
futures.Future.value futures.Future.done futures.Future.wait
"""

VISION = """
datasets.MNIST datasets.SyntheticDigits datasets.spirals datasets.moons transforms.Compose
transforms.ToTensor transforms.Normalize models.resnet50 models.resnet34 models.resnet18
models.resnet.Bottleneck models.ConvNet
"""


PARALLEL = """
nn.DataParallel nn.SyncBatchNorm nn.parallel.DistributedDataParallel nn.parallel.DataParallel
nn.parallel.distributed.DistributedDataParallel
nn.parallel.DistributedDataParallel.no_sync
nn.parallel.DistributedDataParallel.register_comm_hook
distributed.GradBucket distributed.algorithms.Join distributed.algorithms.join.Join
distributed.algorithms.join.Joinable distributed.algorithms.join.JoinHook
distributed.optim.ZeroRedundancyOptimizer
utils.data.distributed.DistributedSampler utils.data.DistributedSampler
"""


def exists(path: str) -> bool:
    """Whether `minitorch_dist.path` is there: attributes, and modules that must be imported."""
    parts = path.split(".")
    found: object = importlib.import_module("minitorch_dist")
    for number, part in enumerate(parts):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(["minitorch_dist", *parts[: number + 1]]))
            except ImportError:
                return False
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("table", [TENSOR, NN, VISION, PARALLEL], ids=["tensor", "nn", "vision", "parallel"])
def test_no_name_of_the_tables_is_missing(table: str) -> None:
    missing = [name for name in table.split() if not exists(name)]
    assert missing == []


def test_the_table_itself_can_fail() -> None:
    assert not exists("nn.NoSuchLayer")
    assert not exists("no_such_package.thing")


@pytest.mark.parity
@pytest.mark.parametrize("table", [TENSOR, NN], ids=["tensor", "nn"])
def test_torch_knows_these_names_too(table: str) -> None:
    torch = pytest.importorskip("torch")
    unknown = []
    for name in table.split():
        try:
            reduce(getattr, name.split("."), torch)
        except AttributeError:
            if name.startswith(("utils.checkpoint", "utils.data.distributed")):
                continue  # modules that torch does not import by itself
            unknown.append(name)
    assert unknown == []
