"""The names that people call, page by page of the reference. A test demands that each of their parameters is described, and runs
their examples."""

from __future__ import annotations

PAGES: dict[str, tuple[str, str, str]] = {
    "tensors": (
        "Tensors",
        "Making tensors, and a few of their methods. Names, arguments and results are those of `torch`.",
        """
        tensor zeros ones full arange rand randn manual_seed no_grad cat stack matmul where save load
        Tensor.backward Tensor.detach Tensor.item Tensor.to Tensor.view Tensor.numpy autograd.grad utils.checkpoint.checkpoint
        """,
    ),
    "modules": (
        "Modules, optimizers and data",
        "The layers that most programs use; `nn` has more, each as in PyTorch.",
        """
        nn.Module nn.Parameter nn.Sequential nn.Linear nn.ReLU nn.Embedding nn.LayerNorm nn.Conv2d nn.BatchNorm2d nn.Dropout
        nn.MSELoss nn.CrossEntropyLoss nn.functional.cross_entropy nn.functional.softmax
        nn.functional.scaled_dot_product_attention nn.utils.clip_grad_norm_
        optim.SGD optim.Adam optim.AdamW optim.lr_scheduler.LambdaLR
        utils.data.DataLoader utils.data.DistributedSampler utils.data.TensorDataset
        """,
    ),
    "groups": (
        "Ranks and groups",
        "How ranks start, find each other and form groups.",
        """
        launch multiprocessing.spawn distributed.init_process_group distributed.destroy_process_group distributed.is_initialized
        distributed.get_rank distributed.get_world_size distributed.get_backend distributed.new_group
        distributed.device_mesh.DeviceMesh distributed.device_mesh.init_device_mesh
        distributed.TCPStore distributed.FileStore distributed.HashStore distributed.PrefixStore
        """,
    ),
    "collectives": (
        "Collectives and messages",
        "All ranks of a group call a collective, in the same order. A message has one sender and one receiver.",
        """
        distributed.all_reduce distributed.broadcast distributed.reduce distributed.all_gather
        distributed.all_gather_into_tensor distributed.gather distributed.scatter distributed.reduce_scatter
        distributed.reduce_scatter_tensor distributed.all_to_all distributed.all_to_all_single distributed.barrier
        distributed.monitored_barrier distributed.ReduceOp distributed.Work
        distributed.send distributed.recv distributed.isend distributed.irecv distributed.batch_isend_irecv distributed.P2POp
        distributed.all_gather_object distributed.broadcast_object_list distributed.gather_object
        distributed.scatter_object_list distributed.send_object_list distributed.recv_object_list
        distributed.exceptions.DistMismatch distributed.exceptions.Deadlock distributed.exceptions.PeerLost
        distributed.exceptions.DistTimeout
        """,
    ),
    "data_parallel": (
        "DDP and FSDP",
        "Training with replicas and with shards.",
        """
        nn.parallel.DistributedDataParallel nn.parallel.DistributedDataParallel.no_sync
        nn.parallel.DistributedDataParallel.register_comm_hook distributed.algorithms.join.Join
        distributed.optim.ZeroRedundancyOptimizer distributed.fsdp.fully_shard distributed.fsdp.MixedPrecisionPolicy
        distributed.fsdp.FullyShardedDataParallel distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_
        distributed.fsdp.FullyShardedDataParallel.no_sync distributed.fsdp.FullyShardedDataParallel.summon_full_params
        distributed.fsdp.ShardingStrategy distributed.fsdp.BackwardPrefetch distributed.fsdp.MixedPrecision
        distributed.fsdp.CPUOffload
        """,
    ),
    "model_parallel": (
        "Pipelines, tensor parallelism and DTensors",
        "A model that is cut into stages, or whose matrices are cut.",
        """
        distributed.pipelining.PipelineStage distributed.pipelining.ScheduleGPipe distributed.pipelining.Schedule1F1B
        distributed.pipelining.ScheduleInterleaved1F1B distributed.pipelining.ScheduleInterleavedZeroBubble
        distributed.tensor.DTensor distributed.tensor.distribute_tensor distributed.tensor.Shard distributed.tensor.Replicate
        distributed.tensor.Partial distributed.tensor.parallel.parallelize_module distributed.tensor.parallel.ColwiseParallel
        distributed.tensor.parallel.RowwiseParallel distributed.tensor.parallel.SequenceParallel
        """,
    ),
    "rpc": (
        "Remote calls",
        "Functions and objects on other workers, and gradients across them.",
        """
        distributed.rpc.init_rpc distributed.rpc.rpc_sync distributed.rpc.rpc_async distributed.rpc.remote distributed.rpc.RRef
        distributed.rpc.RRef.to_here distributed.rpc.RRef.local_value distributed.rpc.RRef.owner
        distributed.rpc.get_worker_info distributed.rpc.shutdown distributed.autograd.context distributed.autograd.backward
        distributed.autograd.get_gradients distributed.optim.DistributedOptimizer
        """,
    ),
    "checkpoints": (
        "Checkpoints",
        "State that some ranks save and others load.",
        """
        distributed.checkpoint.save distributed.checkpoint.load distributed.checkpoint.state_dict.get_state_dict
        distributed.checkpoint.state_dict.set_state_dict distributed.checkpoint.state_dict.get_model_state_dict
        distributed.checkpoint.state_dict.set_model_state_dict
        """,
    ),
    "simulator": (
        "Simulator",
        "Programs in virtual time. [The simulator](../simulator.md) explains how it works.",
        """
        sim.run sim.Report sim.compute sim.mark sim.value sim.start sim.restarts
        sim.devices sim.memory sim.timelines sim.faults sim.journal sim.shapes sim.folded sim.gpu sim.Device
        sim.explore sim.survey sim.exhaust sim.replay sim.Failure sim.sometimes sim.always sim.check_determinism
        """,
    ),
    "networks": (
        "Networks and faults of the simulator",
        "Topologies for `net=`, and faults for `faults=`.",
        """
        sim.link sim.uniform sim.Hockney sim.LogGP sim.two_level sim.mesh sim.torus sim.fat_tree sim.rails sim.dragonfly
        sim.matrix sim.Network
        sim.drop sim.delay sim.jitter sim.duplicate sim.reorder sim.partition sim.clog sim.cut sim.slow sim.crash sim.chaos
        """,
    ),
    "testing": (
        "Testing and journals",
        "Checks of what you write, and the record of a run.",
        """
        testing.check_collective testing.check_transport testing.check_replicas_equal testing.check_same_as_one_rank
        testing.assert_close distributed.journal.read distributed.journal.diff distributed.journal.Journal
        """,
    ),
}


def all_names() -> list[str]:
    return [name for _, _, names in PAGES.values() for name in names.split()]
