"""Networks to train: torchvision's residual networks, and the small ones of the course."""

from minitorch_dist.models import convnet as convnet
from minitorch_dist.models import mlp as mlp
from minitorch_dist.models import resnet as resnet
from minitorch_dist.models.convnet import ConvNet as ConvNet
from minitorch_dist.models.mlp import ToyModel as ToyModel
from minitorch_dist.models.resnet import ResNet as ResNet
from minitorch_dist.models.resnet import resnet18 as resnet18
from minitorch_dist.models.resnet import resnet34 as resnet34
from minitorch_dist.models.resnet import resnet50 as resnet50
from minitorch_dist.models.resnet import resnet101 as resnet101
from minitorch_dist.models.resnet import resnet152 as resnet152
