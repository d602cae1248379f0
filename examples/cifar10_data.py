"""Small colour pictures of ten kinds: CIFAR-10's files (binary version), or shapes that are drawn on the spot."""

from pathlib import Path

import numpy as np

PIXELS, CLASSES = 32, 10


def draw_shapes(count, seed):
    """Pictures of circles, squares, rings, crosses and stripes, each kind in warm or in cold colours, with noise."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, count)
    y, x = np.mgrid[:PIXELS, :PIXELS]
    images = random.uniform(0, 90, (count, PIXELS, PIXELS, 3))
    for image, label in zip(images, labels, strict=True):
        dy, dx = y - random.uniform(13, 19), x - random.uniform(13, 19)
        size = random.uniform(6, 9)
        square = np.maximum(abs(dy), abs(dx)) < size
        circle = np.hypot(dy, dx) < size
        ring = circle & (np.hypot(dy, dx) > size - 3)
        cross = square & (np.minimum(abs(dy), abs(dx)) < 2)
        stripes = square & (dy.astype(int) % 4 < 2)
        bright, dark = random.uniform(130, 165), random.uniform(0, 60)
        colour = [bright, dark, dark] if label < 5 else [dark, dark, bright]
        image += (square, circle, ring, cross, stripes)[label % 5][..., None] * colour
    return images.astype(np.uint8), labels.astype(np.int64)


def read_batch(path):
    """The pictures and labels of a binary file of CIFAR-10: a label and 3 x 32 x 32 bytes for each."""
    content = np.fromfile(path, np.uint8)
    if content.size == 0 or content.size % (1 + 3 * PIXELS**2):
        raise SystemExit(f"{path} is not a binary batch of CIFAR-10: its {content.size} bytes are not n x 3073.")
    records = content.reshape(-1, 1 + 3 * PIXELS**2)
    planes = records[:, 1:].reshape(-1, 3, PIXELS, PIXELS)  # first all red, then all green, then all blue
    return planes.transpose(0, 2, 3, 1), records[:, 0].astype(np.int64)


def load(folder):
    """Pictures and labels, for training and for testing."""
    if not folder:
        return draw_shapes(4000, seed=0), draw_shapes(500, seed=1)
    files = sorted(Path(folder).glob("data_batch_*.bin"))
    if not files:
        raise SystemExit(f"There is no data_batch_1.bin in {folder}: the binary version of CIFAR-10 is meant.")
    images, labels = zip(*map(read_batch, files), strict=True)
    return (np.concatenate(images), np.concatenate(labels)), read_batch(Path(folder) / "test_batch.bin")
