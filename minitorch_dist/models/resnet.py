"""Residual networks (arXiv:1512.03385), with torchvision's arguments and state_dict names.

A block computes a correction and adds it to its input, so that a deep stack starts out close to the
identity and gradients reach every layer:

    x ─┬─ conv ─ bn ─ relu ─ conv ─ bn ─ (+) ─ relu
       └────────────── downsample ────────┘          1×1, where the shape changes

`Bottleneck` squeezes the channels for its 3×3 and widens them again by `expansion`; its stride is on
the 3×3. Four layers of blocks halve the picture and double the channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch_dist.nn import init
from minitorch_dist.nn.modules.activation import ReLU
from minitorch_dist.nn.modules.batchnorm import BatchNorm2d
from minitorch_dist.nn.modules.container import Sequential
from minitorch_dist.nn.modules.conv import Conv2d
from minitorch_dist.nn.modules.linear import Linear
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.modules.normalization import GroupNorm
from minitorch_dist.nn.modules.pooling import AdaptiveAvgPool2d, MaxPool2d
from minitorch_dist.tensors.tensor import Tensor

Norm = Callable[[int], Module]


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> Conv2d:
    """3×3 with a border, so that stride 1 keeps the size."""
    return Conv2d(
        in_planes,
        out_planes,
        kernel_size=3,
        stride=stride,
        padding=dilation,
        groups=groups,
        bias=False,
        dilation=dilation,
    )


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> Conv2d:
    return Conv2d(in_planes, out_planes, kernel_size=1, stride=stride, bias=False)


class BasicBlock(Module):
    """Two 3×3 convolutions."""

    expansion: int = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or BatchNorm2d
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(Module):
    """1×1 to fewer channels, 3×3, 1×1 to `expansion` times as many."""

    expansion: int = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(Module):
    """A stem, four layers of blocks, the mean over the picture, a linear classifier.

    `zero_init_residual` lets every block start as the identity.
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        self._norm_layer = norm_layer or BatchNorm2d
        self.inplanes = 64
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = ReLU(inplace=True)
        self.maxpool = MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2)
        self.layer3 = self._make_layer(block, 256, layers[2], 2)
        self.layer4 = self._make_layer(block, 512, layers[3], 2)
        self.avgpool = AdaptiveAvgPool2d((1, 1))
        self.fc = Linear(512 * block.expansion, num_classes)
        self._initialise(zero_init_residual)

    def _make_layer(
        self, block: type[BasicBlock] | type[Bottleneck], planes: int, blocks: int, stride: int = 1
    ) -> Sequential:
        """`blocks` blocks, of which the first changes the shape."""
        norm_layer = self._norm_layer
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = Sequential(
                conv1x1(self.inplanes, planes * block.expansion, stride), norm_layer(planes * block.expansion)
            )
        first = block(self.inplanes, planes, stride, downsample, self.groups, self.base_width, norm_layer=norm_layer)
        self.inplanes = planes * block.expansion
        others = [
            block(self.inplanes, planes, groups=self.groups, base_width=self.base_width, norm_layer=norm_layer)
            for _ in range(1, blocks)
        ]
        return Sequential(first, *others)

    def _initialise(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, Conv2d):
                init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (BatchNorm2d, GroupNorm)):
                if module.weight is not None:
                    init.constant_(module.weight, 1)
                if module.bias is not None:
                    init.constant_(module.bias, 0)
        if zero_init_residual:
            for module in self.modules():
                last = {Bottleneck: "bn3", BasicBlock: "bn2"}.get(type(module))
                if last is not None and getattr(module, last).weight is not None:
                    init.constant_(getattr(module, last).weight, 0)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet18(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    return _resnet(BasicBlock, [2, 2, 2, 2], weights, kwargs)


def resnet34(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    return _resnet(BasicBlock, [3, 4, 6, 3], weights, kwargs)


def resnet50(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    return _resnet(Bottleneck, [3, 4, 6, 3], weights, kwargs)


def _resnet(
    block: type[BasicBlock] | type[Bottleneck], layers: list[int], weights: None, settings: dict[str, Any]
) -> ResNet:
    if weights is not None or settings.pop("pretrained", False):
        raise ValueError(
            "minitorch_dist downloads nothing: build the network without weights=, and load a "
            "torchvision state_dict with load_state_dict, whose names are the same"
        )
    return ResNet(block, layers, **settings)
