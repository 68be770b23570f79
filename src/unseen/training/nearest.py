"""The remembered sample whose picture is nearest, pixel by pixel.

The squared distance of two pictures is the sum of the squared distances of their symbols. So a
block of queries takes one matrix product a position, of distinct images only, and each query adds
up the rows of its images. The products are rounded; samples that they cannot tell apart are
measured again in whole numbers.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from unseen.problem.samples import Samples, batches

Indices = NDArray[np.intp]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

QUERIES_AT_ONCE = 1_000  # their distances to 50,000 images in two positions take up to 400 MB
IMAGES_AT_ONCE = 4_096  # of those, as floats


class NearestSample:
    """Finds which one of the remembered samples has the nearest picture."""

    def __init__(self, remembered: Samples) -> None:
        self.known: dict[bytes, int] = {}  # distinct images, by their pixels
        for image in remembered.symbols.images[np.unique(remembered.images)]:
            self.known.setdefault(image.tobytes(), len(self.known))
        self.pixels = np.frombuffer(b"".join(self.known), np.uint8).reshape(len(self.known), -1)
        self.pictures = self._numbers(remembered)  # (n, length)
        self.positions = [np.unique(column, return_inverse=True) for column in self.pictures.T]
        self.rows: dict[bytes, int] = {}  # where each picture is first remembered
        for row, picture in enumerate(self.pictures):
            self.rows.setdefault(picture.tobytes(), row)

    def __call__(self, samples: Samples) -> Indices:
        """The rows of the nearest remembered samples; of several as near, the first."""
        pictures = self._numbers(samples)
        found = np.asarray([self.rows.get(picture.tobytes(), -1) for picture in pictures], np.intp)
        unknown = np.flatnonzero(found < 0)
        # neighbours in this order have images in common
        order = unknown[np.lexsort((samples.images[unknown, 0], samples.combinations[unknown]))]
        for batch in batches(len(order), QUERIES_AT_ONCE):
            found[order[batch]] = self._nearest(samples.some(order[batch]))
        return found

    def _numbers(self, samples: Samples) -> Indices:
        """Which of the known images stands in each position of each sample; -1 for others."""
        used, where = np.unique(samples.images, return_inverse=True)
        images = samples.symbols.images[used]
        numbers = [self.known.get(image.tobytes(), -1) for image in images]
        return np.asarray(numbers, np.intp)[where].reshape(samples.images.shape)

    def _nearest(self, queries: Samples) -> list[np.intp]:
        tables, slack = [], np.zeros(len(queries), np.float32)
        for asked, (known, column) in zip(queries.images.T, self.positions, strict=True):
            used, row = np.unique(asked, return_inverse=True)
            images = queries.symbols.images[used].reshape(len(used), -1)
            distances, rounding = squared_distances(images, self.pixels[known])
            slack += 2 * rounding[row]
            tables.append((distances, row, column))
        found = []
        for query, images in enumerate(queries.images):
            distances = sum(table[row[query]][column] for table, row, column in tables)
            near = np.flatnonzero(distances <= distances.min() + slack[query])
            if len(near) > 1:
                near = near[[self._exact(queries.symbols.images[images], near).argmin()]]
            found.append(near[0])
        return found

    def _exact(self, images: Bytes, rows: Indices) -> NDArray[np.int64]:
        """The squared distances of one query's images from some remembered samples."""
        total = np.zeros(len(rows), np.int64)
        for image, numbers in zip(images, self.pictures[rows].T, strict=True):
            distinct, which = np.unique(numbers, return_inverse=True)
            gaps = self.pixels[distinct].astype(np.int64) - image.ravel()
            total += np.square(gaps).sum(axis=1)[which]
        return total


def squared_distances(ours: Bytes, theirs: Bytes) -> tuple[Floats, Floats]:
    """All squared distances of two sets of images, less what each of ours adds to all of its own.

    Comes with how far those of each of ours may be off, after rounding every product and sum.
    """
    images = torch.from_numpy(ours).float()
    table, largest = torch.empty(len(ours), len(theirs)), torch.zeros(())
    for batch in batches(len(theirs), IMAGES_AT_ONCE):
        others = torch.from_numpy(theirs[batch]).float()
        squares = others.square().sum(dim=1)
        table[:, batch] = torch.addmm(squares, images, others.T, alpha=-2)
        largest = largest.maximum(squares.max())
    rounding = ours.shape[1] * torch.finfo(torch.float32).eps
    return table.numpy(), (rounding * (images.square().sum(dim=1) + largest)).numpy()
