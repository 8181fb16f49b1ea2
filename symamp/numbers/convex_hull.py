"""The lower convex hull of points in the plane, in exact rationals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from flint import fmpq

Vertex: TypeAlias = tuple[fmpq, fmpq]


def lower_hull(points: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the vertices of the greatest convex function below the points, from left to right.

    Of points with the same abscissa the lowest counts; points on a line between two others are left out.

    >>> from flint import fmpq
    >>> lower_hull([(fmpq(x), fmpq(y)) for x, y in ((0, 1), (1, 2), (2, 0), (1, 1), (3, 0))])
    [(0, 1), (2, 0), (3, 0)]
    """
    hull: list[tuple[Any, Any]] = []
    for point in sorted(points):
        if hull and hull[-1][0] == point[0]:
            continue
        while len(hull) > 1 and not _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _turns_up(a: tuple[Any, Any], b: tuple[Any, Any], c: tuple[Any, Any]) -> bool:
    return bool((b[1] - a[1]) * (c[0] - b[0]) < (c[1] - b[1]) * (b[0] - a[0]))
