"""The remembered sample whose picture is nearest, pixel by pixel, found without measuring most.

The squared distance of two pictures is the sum of the squared distances of their symbols. So a
sample's picture can only be nearer than a + b if its first symbol is nearer than a or its second
symbol is nearer than b. For each place some hundreds of images are taken that are nearest to the
symbol there, the samples with one of them are looked at, and if the best of these is nearer than
the sum of what was left out in each place, no other sample can be nearer. Otherwise more images
are taken.

Which images are near is known from lower bounds of all distances: projected on some orthonormal
directions, images only come nearer; what is left of two images is at least as far apart as its
lengths differ. Samples whose bounds do not rule them out are measured pixel
by pixel in whole numbers, so the answer is exact.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.problem.samples import Samples, batches

Bytes = NDArray[np.uint8]
Indices = NDArray[np.intp]
Floats = NDArray[np.float64]
Candidates = tuple[Indices, Indices, NDArray[np.uint16]]  # queries, samples, bounds

# All of these change how long it takes and how much memory it needs, and no answer.
DIRECTIONS = 128
IMAGES_FOR_DIRECTIONS = 1_000
POWER_ROUNDS = 2
MOST_QUERIES = 2_000  # at once
MOST_BOUNDS = 200_000_000  # at once, a byte each
BLOCK_ROWS, BLOCK_COLUMNS = 512, 1_024  # of bounds that are made at once, to stay in the cache
IMAGES_AT_ONCE = 4_096
PAIRS_AT_ONCE = 256
QUERIES_AT_ONCE = 64
MOST_CANDIDATES = 1_000_000
IMAGES_IN_REACH = 400  # about so many in each place are looked at first
COLUMNS_FOR_REACH = 1_500  # that their distance is estimated from
MORE_REACH = 20  # units, where no sample was found
RANKS = (0, 1, 4, 16, 64, 2**62)  # of a query's candidates: from one to the next is a round
UNSURE_RANKS = 4  # that are measured of a query whose nearest sample may not be among them

LARGEST_GREY = 255
LARGEST_UNIT = 255
SLACK = 3e-4  # of the squared lengths that a bound is made of: float32 is not wrong by so much


class NearestSample:
    """Finds which one of the remembered samples has the nearest picture."""

    def __init__(self, remembered: Samples) -> None:
        self.known = DistinctImages(remembered)
        self.mean, self.directions = principal_directions(self.known.images)
        features = self.features(self.known.images)
        squares = features.square().sum(1, keepdim=True)
        # times an image's features, square and 1, this is the squared distance
        factors = torch.cat([-2 * features, torch.ones_like(squares), squares], dim=1)
        self.places = [Place(numbers, factors) for numbers in self.known.numbers.T]
        for place in self.places:
            place.columns_of = [other.columns[place.samples] for other in self.places]
        # up to the mean squared distance of two images; what is farther need not be told apart
        self.unit = max(1e-3, 2 * float(squares.mean()) / LARGEST_UNIT)
        self.largest_square = len(self.places) * float(squares.max())

    def features(self, images: Bytes) -> Tensor:
        """Images along the principal directions, and the length of the rest: (n, k + 1).

        No two images are farther apart there than they are.
        """
        parts = []
        for batch in batches(len(images), IMAGES_AT_ONCE):
            rows = as_rows(images[batch]) - self.mean
            along = rows @ self.directions
            # not from squared lengths: where little is left, their difference is mostly rounding
            rest = torch.addmm(rows, along, self.directions.T, alpha=-1)
            parts.append(torch.cat([along, rest.norm(dim=1, keepdim=True)], dim=1))
        return torch.cat(parts)

    def __call__(self, samples: Samples) -> Indices:
        """The rows of the nearest remembered samples; of several as near, the first."""
        found = self.known.find_pictures(samples)
        unknown = np.flatnonzero(found < 0)
        # neighbours in this order share images, whose bounds are then made once for all of them
        order = unknown[np.lexsort((samples.images[unknown, 0], samples.combinations[unknown]))]
        columns = sum(len(place.counts) for place in self.places)
        size = min(MOST_QUERIES, max(1, MOST_BOUNDS // columns))
        queries = None
        for batch in batches(len(order), size):
            queries = Queries(self, samples.some(order[batch]), queries)
            found[order[batch]] = queries.nearest()
        return found


class DistinctImages:
    """The images of the remembered samples; those that look the same are one."""

    def __init__(self, remembered: Samples) -> None:
        used, where = np.unique(remembered.images, return_inverse=True)
        # by label: what is near then often lies side by side in memory
        by_label = np.argsort(remembered.symbols.labels[used], kind="stable")
        where = np.argsort(by_label)[where]
        images = remembered.symbols.images[used[by_label]]
        self.by_pixels: dict[bytes, int] = {}
        numbers = np.asarray(
            [self.by_pixels.setdefault(image.tobytes(), len(self.by_pixels)) for image in images]
        )
        self.images = images[np.unique(numbers, return_index=True)[1]]
        self.numbers: Indices = numbers[where].reshape(remembered.images.shape)
        self.pictures: dict[bytes, int] = {}  # where each picture is first remembered
        for row, picture in enumerate(self.numbers):
            self.pictures.setdefault(picture.tobytes(), row)

    def find_pictures(self, samples: Samples) -> Indices:
        """For each sample, the first remembered one with the same picture; -1 if none has it."""
        used, where = np.unique(samples.images, return_inverse=True)
        images = samples.symbols.images[used]
        numbers = np.asarray([self.by_pixels.get(image.tobytes(), -1) for image in images])
        pictures = numbers[where].reshape(samples.images.shape)
        rows = [self.pictures.get(picture.tobytes(), -1) for picture in pictures]
        return np.asarray(rows, np.intp)


class Place:
    """One place of the remembered samples: a column for each image, and who has it there."""

    columns_of: list[Indices]  # by place: the columns there, in the order of this one's `samples`

    def __init__(self, numbers: Indices, factors: Tensor) -> None:
        images, self.columns, self.counts = np.unique(
            numbers, return_inverse=True, return_counts=True
        )
        self.factors = factors[images]  # (columns, k + 2)
        self.samples = np.argsort(self.columns, kind="stable")
        self.starts = np.cumsum(self.counts) - self.counts


class Queries:
    """Some samples whose nearest remembered ones are looked for together.

    Bounds are whole numbers of the memory's unit, rounded down. Those of images that the queries
    before had too are taken over.
    """

    def __init__(self, memory: NearestSample, samples: Samples, before: "Queries | None") -> None:
        self.memory, self.places = memory, memory.places
        self.used: list[Indices] = []  # by place: images, by their numbers among all symbols
        self.images: list[Bytes] = []  # by place
        self.rows: list[Indices] = []  # by place: which of its images each query has
        self.bounds: list[Bytes] = []  # by place: (images, columns)
        self.reach = np.empty((len(self.places), len(samples)), np.int64)
        self.slack = np.full(len(samples), SLACK * memory.largest_square)
        for at, (place, column) in enumerate(zip(self.places, samples.images.T, strict=True)):
            used, rows = np.unique(column, return_inverse=True)
            images = samples.symbols.images[used]
            features = memory.features(images)
            squares = features.square().sum(1, keepdim=True)
            factors = torch.cat([features, squares, torch.ones_like(squares)], dim=1)
            bounds = np.empty((len(used), len(place.counts)), np.uint8)
            is_new = np.ones(len(used), np.bool_)
            if before is not None:
                _, ours, theirs = np.intersect1d(used, before.used[at], True, return_indices=True)
                bounds[ours] = before.bounds[at][theirs]
                is_new[ours] = False
            bounds[is_new] = whole_units(factors[is_new] / memory.unit, place.factors)
            self.used.append(used)
            self.images.append(images)
            self.rows.append(rows)
            self.bounds.append(bounds)
            self.reach[at] = first_reach(bounds)[rows]
            self.slack += SLACK * squares.flatten().numpy()[rows]
        self.distances = np.full(len(samples), np.inf)  # to the nearest sample so far
        self.found = np.zeros(len(samples), np.intp)

    def nearest(self) -> Indices:
        """The rows of the nearest remembered samples."""
        left = np.arange(len(self.found))
        while len(left):
            self.measure_likely(*self.candidates(left))
            left = left[~self.is_sure()[left]]
            self.extend_reach(left)
        return self.found

    def highest(self) -> Floats:
        """For each query, the highest bound that a sample as near as its nearest can have."""
        bounds: Floats = (self.distances + self.slack) / self.memory.unit
        return bounds

    def lowest_beyond(self) -> Floats:
        """For each query, the lowest bound of samples without an image in reach."""
        bounds: Floats = (self.reach + 1.0).sum(axis=0)
        bounds[(self.reach >= LARGEST_UNIT).any(axis=0)] = np.inf
        return bounds

    def is_sure(self) -> NDArray[np.bool_]:
        """Whether no sample without an image in reach can be as near as the nearest so far."""
        return self.highest() < self.lowest_beyond()

    def extend_reach(self, queries: Indices) -> None:
        """Reach as far as the nearest samples so far ask for; a little more if there is none."""
        missing = (self.highest() - self.lowest_beyond())[queries]
        more = np.floor(missing / len(self.places)) + 1
        more[np.isinf(missing)] = MORE_REACH
        reach = self.reach[:, queries] + more.astype(np.int64)
        self.reach[:, queries] = np.minimum(reach, LARGEST_UNIT)

    def candidates(self, queries: Indices) -> Candidates:
        """Samples with an image in reach that can be nearer than all beyond it."""
        most = np.minimum(self.highest(), self.lowest_beyond())
        most = np.minimum(most, np.iinfo(np.uint16).max).astype(np.uint16)
        found = []
        for at, rows in enumerate(self.rows):
            ordered = queries[np.argsort(rows[queries], kind="stable")]
            for batch in batches(len(ordered), QUERIES_AT_ONCE):
                found.append(self.candidates_by_place(at, ordered[batch], most))
        return joined(found)

    def candidates_by_place(
        self, at: int, queries: Indices, most: NDArray[np.uint16]
    ) -> Candidates:
        """Samples with an image in reach in one place, whose bounds are not above the most."""
        place = self.places[at]
        rows, row_of = np.unique(self.rows[at][queries], return_inverse=True)
        reach = np.zeros(len(rows), np.uint8)
        np.maximum.at(reach, row_of, self.reach[at, queries].astype(np.uint8))
        # for each image, all samples with an image in its reach
        bounds = self.bounds[at][rows]
        hits = np.flatnonzero(bounds <= reach[:, None])
        ends = np.searchsorted(hits, np.arange(1, len(rows) + 1) * bounds.shape[1])
        owner = np.repeat(np.arange(len(rows)), np.diff(ends, prepend=0))
        columns = hits - owner * bounds.shape[1]
        counts = place.counts[columns]
        held = spans(place.starts[columns], counts)
        held_bounds = np.repeat(bounds.ravel()[hits].astype(np.uint16), counts)
        held_ends = np.append(0, np.cumsum(counts))[ends]
        # the same for each query with that image
        counts = np.diff(held_ends, prepend=0)[row_of]
        if counts.sum() > MOST_CANDIDATES and len(queries) > 1:
            halves = np.array_split(queries, 2)
            return joined([self.candidates_by_place(at, half, most) for half in halves])
        chosen = spans(held_ends[row_of] - counts, counts)
        held, total = held[chosen], held_bounds[chosen]
        owner = np.repeat(np.arange(len(queries)), counts)
        for other, elsewhere in enumerate(self.bounds):
            if other != at:
                there = (self.rows[other][queries] * elsewhere.shape[1])[owner]
                there += place.columns_of[other][held]
                total += elsewhere.ravel()[there]
        near = np.flatnonzero(total <= most[queries][owner])
        return queries[owner[near]], place.samples[held[near]], total[near]

    def measure_likely(
        self, queries: Indices, samples: Indices, bounds: NDArray[np.uint16]
    ) -> None:
        """Measure the candidates that can be nearest, in rounds, those with low bounds first."""
        order = np.lexsort((bounds, queries))
        queries, samples, bounds = queries[order], samples[order], bounds[order]
        rank = np.arange(len(queries)) - np.searchsorted(queries, queries)
        for first, end in pairwise(RANKS):
            highest = self.highest()
            if first >= UNSURE_RANKS:
                highest[~self.is_sure()] = -1
            near = (rank >= first) & (rank < end) & (bounds <= highest[queries])
            self.measure(queries[near], samples[near])

    def measure(self, queries: Indices, samples: Indices) -> None:
        """Measure distances pixel by pixel; keep the least of each query, and the first of ties."""
        known = self.memory.known
        distances = np.zeros(len(queries))
        for batch in batches(len(queries), PAIRS_AT_ONCE):
            for at, images in enumerate(self.images):
                ours = images[self.rows[at][queries[batch]]]
                theirs = known.images[known.numbers[samples[batch], at]]
                distances[batch] += squared_distances(ours, theirs)
        distances /= LARGEST_GREY**2
        falling = np.lexsort((samples, distances))[::-1]
        best = np.full(len(self.found), -1)
        best[queries[falling]] = falling
        asked = np.flatnonzero(best >= 0)
        best = best[asked]
        nearer = (distances[best] < self.distances[asked]) | (
            (distances[best] == self.distances[asked]) & (samples[best] < self.found[asked])
        )
        self.distances[asked[nearer]] = distances[best[nearer]]
        self.found[asked[nearer]] = samples[best[nearer]]


def as_rows(images: Bytes) -> Tensor:
    """Images as rows of pixels from 0 to 1."""
    return torch.from_numpy(images.reshape(len(images), -1)).float().div_(LARGEST_GREY)


def principal_directions(images: Bytes) -> tuple[Tensor, Tensor]:
    """The mean of some images, and orthonormal directions in which they mostly differ.

    A few rounds of the power method do not find the principal directions exactly, and need not:
    any orthonormal directions give right bounds, and these give high ones.
    """
    some = as_rows(images[:: -(-len(images) // IMAGES_FOR_DIRECTIONS)])
    mean = some.mean(0)
    some -= mean
    pixels = some.shape[1]
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(pixels, min(DIRECTIONS, pixels), generator=generator)
    for _ in range(POWER_ROUNDS):
        directions = some.T @ (some @ torch.linalg.qr(directions)[0])
    return mean, torch.linalg.qr(directions)[0]


def whole_units(ours: Tensor, theirs: Tensor) -> Bytes:
    """The products of rows of two matrices, rounded down; the largest unit stands for more too."""
    units = np.empty((len(ours), len(theirs)), np.uint8)
    for rows in batches(len(ours), BLOCK_ROWS):
        for columns in batches(len(theirs), BLOCK_COLUMNS):
            block = (ours[rows] @ theirs[columns].T).clamp_(0, LARGEST_UNIT)
            np.copyto(units[rows, columns], block.numpy(), casting="unsafe")
    return units


def first_reach(bounds: Bytes) -> Indices:
    """How many units to look first, for each image: far enough for some hundreds of columns."""
    some = bounds[:, :: max(1, bounds.shape[1] // COLUMNS_FOR_REACH)]
    rank = min(some.shape[1] - 1, some.shape[1] * IMAGES_IN_REACH // bounds.shape[1])
    return np.partition(some, rank, axis=1)[:, rank].astype(np.intp)


def spans(starts: Indices, counts: Indices) -> Indices:
    """All indices of some spans, one span after the other."""
    indices = np.repeat(starts - np.cumsum(counts) + counts, counts)
    indices += np.arange(len(indices))
    return indices


def joined(parts: Sequence[Candidates]) -> Candidates:
    queries, samples, bounds = (np.concatenate(part) for part in zip(*parts, strict=True))
    return queries, samples, bounds


def squared_distances(ours: Bytes, theirs: Bytes) -> Floats:
    """The squared distances of images, one of ours to one of theirs, in whole numbers."""
    gaps = ours.reshape(len(ours), -1).astype(np.float32)
    gaps -= theirs.reshape(len(theirs), -1).astype(np.float32)
    distances: Floats = np.einsum("ij,ij->i", gaps, gaps).astype(np.float64)
    inexact = np.flatnonzero(distances >= 2**24)  # float32 has all whole numbers below that
    distances[inexact] = np.square(gaps[inexact], dtype=np.float64).sum(axis=1)
    return distances
