"""The remembered sample whose picture is nearest, pixel by pixel: exact, and without all pixels.

The squared distance of two pictures is the sum of the distances of their symbols, so each pair of
symbols is compared once. Along a few orthonormal directions symbols only come nearer: that gives a
lower bound for every distance, and only samples whose bound is low are compared pixel by pixel.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from unseen.problem.samples import Samples, batches

Bytes = NDArray[np.uint8]
Rows = NDArray[np.intp]

DIRECTIONS = 128
IMAGES_FOR_DIRECTIONS = 4_000
IMAGES_AT_ONCE = 512
MOST_BOUNDS = 400_000_000  # a byte each
FIRST_SHARE = 0.01  # of the images: those within the first reach
LIKELY = 16  # samples whose distances give the first upper bound
SLACK = 1e-3  # of a distance: float32 is not wrong by so much


class NearestSample:
    """Finds which one of the remembered samples has the nearest picture; of ties, the first."""

    def __init__(self, remembered: Samples) -> None:
        images, numbers = np.unique(remembered.images, return_inverse=True)
        numbers = numbers.reshape(remembered.images.shape)
        self.pixels = _pixels(remembered.symbols.images[images])
        self.middle = self.pixels.mean(0)
        some = self.pixels[:: -(-len(images) // IMAGES_FOR_DIRECTIONS)] - self.middle
        directions = torch.linalg.eigh(some.T @ some)[1]
        self.directions = directions[:, -DIRECTIONS:]
        self.features = self._features(self.pixels)
        self.squares = self.features.square().sum(1)
        self.unit = max(1.0, 2 * float(self.squares.mean()) / 255)  # of a bound
        self.numbers = numbers.T.copy()  # (places, samples)
        # by place: samples in the order of their images, and where each image begins
        self.orders = [np.argsort(place, kind="stable") for place in self.numbers]
        counts = [np.bincount(place, minlength=len(images)) for place in self.numbers]
        self.starts = [np.append(0, np.cumsum(each)) for each in counts]

    def _features(self, pixels: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = (pixels - self.middle) @ self.directions
        return features

    def __call__(self, samples: Samples) -> Rows:
        """The rows of the nearest remembered samples."""
        found = np.empty(len(samples), np.intp)
        by_first = np.argsort(samples.images[:, 0], kind="stable")
        at_once = max(1, MOST_BOUNDS // len(self.pixels) // samples.images.shape[1])
        for batch in batches(len(samples), at_once):
            rows = by_first[batch]
            images, where = np.unique(samples.images[rows], return_inverse=True)
            pixels = _pixels(samples.symbols.images[images])
            bounds = self._bounds(pixels)
            reach = self._first_reach(bounds)
            for row, at in zip(rows, where.reshape(len(rows), -1), strict=True):
                places = [bounds[image] for image in at]
                found[row] = self._nearest(pixels[at], places, int(reach[at].mean()))
        return found

    def _bounds(self, pixels: torch.Tensor) -> Bytes:
        """Lower bounds of the squared distances to all remembered images, in whole units."""
        bounds = np.empty((len(pixels), len(self.pixels)), np.uint8)
        offsets, factors = self.squares / self.unit, self.features.T * (-2 / self.unit)
        for batch in batches(len(pixels), IMAGES_AT_ONCE):
            features = self._features(pixels[batch])
            distances = torch.addmm(offsets, features, factors)
            distances += features.square().sum(1, keepdim=True) / self.unit
            bounds[batch] = distances.clamp_(0, 255).to(torch.uint8).numpy()
        return bounds

    def _first_reach(self, bounds: Bytes) -> Bytes:
        """For each image, a bound that about one in a hundred remembered images keep."""
        some = bounds[:, :: max(1, bounds.shape[1] // 1_000)]
        at = int(FIRST_SHARE * some.shape[1])
        return np.partition(some, at, axis=1)[:, at]

    def _nearest(self, pixels: torch.Tensor, bounds: list[Bytes], reach: int) -> int:
        """The row of the remembered sample that is nearest to one picture.

        A sample within some limit has, in one place at least, an image within an equal share of
        it: only samples with an image within reach are looked at.
        """
        most = np.inf
        while True:
            candidates = np.concatenate(
                [
                    self._with_images(place, np.flatnonzero(bound <= reach))
                    for place, bound in enumerate(bounds)
                ]
            )
            sums = np.zeros(len(candidates), np.uint16)
            for bound, numbers in zip(bounds, self.numbers, strict=True):
                sums += bound[numbers[candidates]]
            if len(candidates) and most == np.inf:
                likely = candidates[np.argpartition(sums, min(LIKELY, len(sums) - 1))[:LIKELY]]
                most = self._distances(pixels, likely).min()
            limit = most * (1 + SLACK) / self.unit
            if reach >= min(255, limit / len(bounds)):
                near = candidates[sums <= limit]
                distances = self._distances(pixels, near)
                return int(near[distances == distances.min()].min())
            reach = int(min(255, np.ceil(limit / len(bounds)) if most < np.inf else 2 * reach + 1))

    def _with_images(self, place: int, images: Rows) -> Rows:
        """All samples with one of these images in a place."""
        starts, ends = self.starts[place][images], self.starts[place][images + 1]
        counts = ends - starts
        before = np.cumsum(counts) - counts
        at = np.repeat(starts - before, counts) + np.arange(counts.sum())
        rows: Rows = self.orders[place][at]
        return rows

    def _distances(self, pixels: torch.Tensor, candidates: Rows) -> NDArray[np.float64]:
        """The squared distances of candidates to a picture; exact for those that may be least."""
        gaps = self.pixels[self.numbers[:, candidates]] - pixels[:, None]  # (places, n, pixels)
        rough = gaps.square().sum((0, 2))
        distances = rough.double()
        near = rough <= rough.min() * (1 + SLACK)
        distances[near] = gaps[:, near].double().square().sum((0, 2))
        return distances.numpy()


def _pixels(images: Bytes) -> torch.Tensor:
    """Images as rows of grey values."""
    return torch.from_numpy(images.reshape(len(images), -1)).float()
