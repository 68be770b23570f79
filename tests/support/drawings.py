"""The digits of tests/data/drawings.txt as the points that a pen passes."""

import math
from pathlib import Path

Point = tuple[float, ...]
Stroke = list[Point]  # in shares of the square's side

WRITTEN = Path(__file__).parents[1] / "data/drawings.txt"


def drawings() -> list[tuple[int, list[Stroke]]]:
    """Every digit with its strokes."""
    lines = [line for line in WRITTEN.read_text().splitlines() if line and line[0] != "#"]
    parts = (line.split(": ") for line in lines)
    return [(int(digit), [*map(_stroke, way.split(";"))]) for digit, way in parts]


def _stroke(text: str) -> Stroke:
    """The points of a stroke, from corner to corner in smooth curves."""
    legs: list[Stroke] = []
    for part in text.split("|"):
        points = [tuple(float(each) / 100 for each in point.split(",")) for point in part.split()]
        legs.append([*legs[-1][-1:], *points] if legs else points)
    return [point for leg in legs for point in _smooth(leg)]


def _smooth(points: Stroke, spacing: float = 0.02) -> Stroke:
    """A Catmull-Rom curve through some points, in points that lie so far from each other."""
    ends = [points[0], *points, points[-1]]
    curve = [points[0]]
    for before, start, end, after in zip(ends, ends[1:], ends[2:], ends[3:], strict=False):
        steps = max(1, round(math.dist(start, end) / spacing))
        for t in (step / steps for step in range(1, steps + 1)):
            near = zip(before, start, end, after, strict=True)
            curve.append(
                tuple(
                    b
                    + t
                    * ((c - a) + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
                    / 2
                    for a, b, c, d in near
                )
            )
    return curve
