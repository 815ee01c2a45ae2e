"""The small transformer, whose attention and MLP are cut: every rank takes all sequences, and computes a part of each layer."""

import cut

from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor.parallel import parallelize_module
from mtd.course import one_model
from mtd.course.small_transformer import Yours, causal

FORMULA = "C/P, and four all_reduces for each layer and sequence"


def attention(module):
    heads = [cut.Columns(each) for each in (module.query, module.key, module.value)]
    return cut.Attention(*heads, cut.Rows(module.output), module.heads, causal)


def mlp(module):
    return cut.MLP(cut.Columns(module[0]), cut.Rows(module[2]))


def trained():
    model = one_model.model()
    mesh = init_device_mesh("cpu", (one_model.RANKS,))
    parallelize_module(
        model, mesh, {"blocks.*.attention": Yours(attention), "blocks.*.mlp": Yours(mlp)}
    )
    scale = 1 / one_model.SEQUENCES
    step = one_model.stepping(model, range(one_model.SEQUENCES), scale)
    return lambda: step() / one_model.RANKS  # all ranks have the same loss


def seconds():
    whole = one_model.products(one_model.parameters()[-2:])  # the last matrix is not cut
    cut_ones = (one_model.computing() - whole) / one_model.RANKS
    nbytes = one_model.TOKENS * one_model.WIDTH * 8
    sums = 4 * one_model.BLOCKS * one_model.SEQUENCES
    return whole + cut_ones + sums * one_model.quickest("all_reduce", nbytes)
