"""Networks to train: torchvision's residual networks, and the small ones of the course."""

from minitorch_dist.models import convnet as convnet, mlp as mlp, resnet as resnet
from minitorch_dist.models.convnet import ConvNet as ConvNet
from minitorch_dist.models.mlp import ToyModel as ToyModel
from minitorch_dist.models.resnet import (
    ResNet as ResNet,
    resnet18 as resnet18,
    resnet34 as resnet34,
    resnet50 as resnet50,
)
