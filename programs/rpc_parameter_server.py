"""One worker keeps the model and computes with it; trainers send it data: seed 002's parameter server.

    parameter_server (rank 0)                 trainer_1 … (ranks 1 …)
      Net, its parameters         ◄── images ──  forward: a remote call
      gradients in the context    ◄── d loss ──  dist_autograd.backward
      a local SGD step            ◄── step ────  DistributedOptimizer

    python programs/rpc_parameter_server.py --world_size=2                    one command
    python programs/rpc_parameter_server.py --world_size=2 --rank=0           a terminal for each,
    python programs/rpc_parameter_server.py --world_size=2 --rank=1           with --master_addr=HOST
    python programs/rpc_parameter_server.py --world_size=4 --sim --train_size=96 --test_size=32

Corrected against the seed:
* `--world_size=4` means three trainers that share one model. There a trainer's step falls between another's
  forward and backward, and the backward pass fails (T3). Here a trainer takes its turn for forward,
  backward and step (`Turn`); they still overlap in preparing data. The comment under the seed is right that this
  does not speed up data parallel training: one server computes. `push_pull_server.py` is the other kind.
* The accuracy is measured with the server's dropout off; `eval()` on the trainer cannot reach it (T2).
  `forward` takes the mode along with the data, and `get_accuracy` calls it as it is defined (T1).
* `dropout2` is Dropout, since its input has no channels left to drop (T4).
* Gradients are asked for by name. A dictionary by tensor, sent, holds copies nobody can look up (T18). They are
  as large as the model, so they are asked for once, not in each step.
* Each terminal's process is the rank itself; loaders are not handed to a second process (T19).
* Each trainer has its own share of the digits; in the seed all train on all of them.
"""

import threading
import time

import minitorch_dist as torch
import minitorch_dist.distributed.autograd as dist_autograd
import minitorch_dist.distributed.rpc as rpc
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
import minitorch_dist.optim as optim
from minitorch_dist.distributed.optim import DistributedOptimizer
from minitorch_dist.futures import Future
from seam import alike, count, digits, flags, start


class Net(nn.Module):
    """The ConvNet of the tutorials. The convolutions on the first device, the rest on the second."""

    def __init__(self, num_gpus=0):
        super().__init__()
        first = "cuda:0" if torch.cuda.is_available() and num_gpus > 0 else "cpu"
        rest = "cuda:1" if first != "cpu" and num_gpus > 1 else first
        print(f"Using {num_gpus} GPUs to train: convolutions on {first}, the rest on {rest}")
        self.conv1 = nn.Conv2d(1, 32, 3, 1).to(first)
        self.conv2 = nn.Conv2d(32, 64, 3, 1).to(first)
        self.dropout1 = nn.Dropout2d(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128).to(rest)
        self.fc2 = nn.Linear(128, 10).to(rest)

    def forward(self, x):
        x = F.relu(self.conv1(x.to(self.conv1.weight.device)))
        x = F.max_pool2d(self.conv2(x), 2)
        x = torch.flatten(self.dropout1(x), 1).to(self.fc1.weight.device)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


# ------------------------------------------------------------------------------ on rank 0


class ParameterServer(nn.Module):
    def __init__(self, num_gpus=0, no_dropout=False):
        super().__init__()
        self.model = alike(Net(num_gpus))
        self.no_dropout = no_dropout

    def forward(self, inp, training=True):
        self.model.train(training and not self.no_dropout)
        return self.model(inp).to("cpu")

    def get_dist_gradients(self, cid):
        """The gradients that a trainer's context holds here, by the parameters' names."""
        grads = dist_autograd.get_gradients(cid)
        return {n: grads[p].to("cpu") for n, p in self.model.named_parameters() if p in grads}

    def get_param_rrefs(self):
        return [rpc.RRef(parameter) for parameter in self.model.parameters()]


class Turn:
    """One trainer at a time. A later one waits in a queue, and no thread waits with it."""

    def __init__(self):
        self.lock, self.holder, self.queue = threading.Lock(), None, []

    @rpc.functions.async_execution
    def take(self, who):
        mine = Future()
        with self.lock:
            free = self.holder is None
            if free:
                self.holder = who
            else:
                self.queue.append((who, mine))
        if free:
            mine.set_result(None)
        return mine

    def give(self):
        with self.lock:
            self.holder, following = self.queue.pop(0) if self.queue else (None, None)
        if following is not None:
            following.set_result(None)

    def whose(self):
        return self.holder


param_server, turn = None, None
global_lock = threading.Lock()


def get_parameter_server(num_gpus=0, no_dropout=False):
    """The one server of this process; the first who asks has it made."""
    global param_server
    with global_lock:
        if param_server is None:
            param_server = ParameterServer(num_gpus, no_dropout)
        return param_server


def get_turn():
    global turn
    with global_lock:
        turn = turn or Turn()
        return turn


def run_parameter_server(rank, world_size):
    """It has no loop: it serves until all trainers have called `shutdown`, too."""
    global param_server, turn
    param_server = turn = None
    print("PS master initializing RPC")
    rpc.init_rpc("parameter_server", rank=rank, world_size=world_size)
    print("RPC initialized! Running parameter server...")
    rpc.shutdown()
    print("RPC shutdown on parameter server.")


# --------------------------------------------------------------------------- on the trainers


def remote_method(method, rref, *args, **kwargs):
    """`method` of the object behind `rref`, where that object is."""
    return rpc.rpc_sync(rref.owner(), call_method, args=[method, rref, *args], kwargs=kwargs)


def call_method(method, rref, *args, **kwargs):
    return method(rref.local_value(), *args, **kwargs)


def take(turn, who):
    """Wait for our turn; if it does not come, say whose it is."""
    try:
        turn.rpc_sync().take(who)
    except RuntimeError as error:
        if "ran for more than set timeout" not in str(error):
            raise
        holder = turn.rpc_sync().whose()
        raise RuntimeError(
            f"{who} waited for its turn, which {holder} has and does not give. If {holder} has ended, "
            "start all ranks again"
        ) from error


class TrainerNet(nn.Module):
    """Looks like a model, and asks the server."""

    def __init__(self, num_gpus=0, no_dropout=False):
        super().__init__()
        self.param_server_rref = rpc.remote("parameter_server", get_parameter_server, args=(num_gpus, no_dropout))

    def get_global_param_rrefs(self):
        return remote_method(ParameterServer.get_param_rrefs, self.param_server_rref)

    def forward(self, x):
        return remote_method(ParameterServer.forward, self.param_server_rref, x, training=self.training)


def batches(images, labels, size):
    for begin in range(0, len(images), size):
        yield (torch.from_numpy(images[begin : begin + size]), torch.from_numpy(labels[begin : begin + size]))


def run_training_loop(rank, world_size, options):
    net = TrainerNet(options.num_gpus, options.no_dropout)
    my_turn = rpc.remote("parameter_server", get_turn)
    opt = DistributedOptimizer(optim.SGD, net.get_global_param_rrefs(), lr=options.lr)
    images, labels = digits(options.train_size)
    images, labels = images[rank - 1 :: world_size - 1], labels[rank - 1 :: world_size - 1]
    losses, begun = [], time.time()
    for epoch in range(options.epochs):
        for i, (data, target) in enumerate(batches(images, labels, options.batch_size)):
            take(my_turn, f"trainer_{rank}")
            with dist_autograd.context() as cid:
                loss = F.nll_loss(net(data), target)
                dist_autograd.backward(cid, [loss])
                if i == epoch == 0:
                    grads = remote_method(ParameterServer.get_dist_gradients, net.param_server_rref, cid)
                    assert grads, "the backward pass left no gradients on the server"
                opt.step(cid)
            my_turn.rpc_sync().give()
            losses.append(loss.item())
            if i % options.log_every == 0:
                print(f"Rank {rank} epoch {epoch} training batch {i} loss {losses[-1]:.6f}")
    print(f"Training complete! {time.time() - begun:.1f} s")
    return losses, get_accuracy(net, my_turn, rank, options)


def get_accuracy(net, my_turn, rank, options):
    net.eval()
    images, labels = digits(options.test_size, train=False)
    right = 0
    take(my_turn, f"trainer_{rank}")
    with torch.no_grad():
        for data, target in batches(images, labels, 250):
            right += int((net(data).argmax(dim=1) == target).sum().item())
    my_turn.rpc_sync().give()
    print(f"Accuracy {right / len(images):.4f}")
    return right / len(images)


def run_worker(rank, world_size, options):
    rpc.init_rpc(f"trainer_{rank}", rank=rank, world_size=world_size)
    result = run_training_loop(rank, world_size, options)
    rpc.shutdown()
    return result


def run(rank, world_size, options):
    if rank == 0:
        return run_parameter_server(rank, world_size)
    return run_worker(rank, world_size, options)


def parser():
    made = flags(__doc__, world_size=4)
    words = "--world_size counts the server and its trainers: at least 2"
    made.demand(lambda options: options.world_size >= 2, words)
    add = made.add_argument
    add("--num_gpus", type=int, default=0, choices=(0, 1, 2), help="(simulated) devices of the server")
    add("--train_size", type=count, default=8000, help="digits to train on, of all trainers together")
    add("--test_size", type=count, default=2000)
    add("--batch_size", type=count, default=32)
    add("--epochs", type=count, default=2)
    add("--lr", type=float, default=0.03)
    add("--log_every", type=count, default=5)
    add("--no_dropout", action="store_true", help="so that two runs can be compared")
    return made


if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
