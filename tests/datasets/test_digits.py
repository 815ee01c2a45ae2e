"""Digits drawn from strokes: the right shapes, one seed one run, all classes, legible."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch_dist.datasets import SyntheticDigits
from minitorch_dist.datasets.strokes import STYLES, pen


def test_the_shapes_are_those_of_mnist() -> None:
    digits = SyntheticDigits(size=50)
    assert digits.data.shape == (50, 28, 28) and str(digits.data.dtype) == "torch.uint8"
    assert digits.targets.shape == (50,) and str(digits.targets.dtype) == "torch.int64"
    image, label = digits[3]
    assert image.shape == (28, 28) and label == int(digits.targets[3])
    assert len(SyntheticDigits(size=0)) == 0


def test_one_seed_is_one_set_of_digits() -> None:
    a, b, c = (SyntheticDigits(size=40, seed=s) for s in (7, 7, 8))
    assert np.array_equal(a.data.array, b.data.array)
    assert not np.array_equal(a.data.array, c.data.array)


def test_train_and_test_never_share_a_digit() -> None:
    train = {image.tobytes() for image in SyntheticDigits(True, 500).data.array}
    test = {image.tobytes() for image in SyntheticDigits(False, 500).data.array}
    assert len(train) == len(test) == 500 and not train & test


def test_transforms_are_applied_to_image_and_target() -> None:
    digits = SyntheticDigits(size=5, transform=lambda i: i.sum(), target_transform=lambda t: -t)
    image, label = digits[0]
    assert image == digits.data.array[0].sum() and label == -int(digits.targets[0])


def test_every_digit_is_ink_inside_the_frame() -> None:
    images = SyntheticDigits(size=1000).data.array
    ink = (images > 128).sum((1, 2))
    assert ink.min() > 15 and ink.max() < 350
    border = np.concatenate([images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]])
    assert (border > 128).mean() < 0.005


def test_a_digit_is_nearer_to_the_mean_of_its_class_than_chance() -> None:
    train, test = SyntheticDigits(True, 2000), SyntheticDigits(False, 500)
    flat = train.data.array.reshape(2000, -1).astype(np.float32)
    means = np.stack([flat[train.targets.array == d].mean(0) for d in range(10)])
    seen = test.data.array.reshape(500, -1).astype(np.float32)
    guess = ((seen[:, None] - means) ** 2).sum(2).argmin(1)
    right = (guess == test.targets.array).mean()
    assert 0.5 < right < 0.95  # learnable, and not by a template alone


@pytest.mark.parametrize("digit", range(10))
def test_the_pen_walks_every_style_at_an_even_pace(digit: int) -> None:
    for strokes in STYLES[digit]:
        points = pen(strokes, 56)
        assert points.shape == (56, 2) and points.min() > 0 and points.max() < 1
        steps = np.hypot(*np.diff(points, axis=0).T)
        assert np.sort(steps)[-len(strokes) - 1] < 0.12  # but for the jumps between strokes


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        SyntheticDigits(size=-1)
