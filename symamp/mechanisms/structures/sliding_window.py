"""Two-level mechanisms on an interval: a window of messages around the input, disjoint for the two ends."""

from __future__ import annotations

from symamp.mechanisms.structures.disjoint_cover import DisjointCover


class SlidingWindow(DisjointCover):
    """A ``DisjointCover`` whose sets are intervals that move with the input, from one end of the messages to the other.

    No input hides in the reference measure: a drawn input leaves the ends of the messages to few windows. So the two
    ends are the only inputs that are shown.
    """

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ends of the interval of inputs."""
        return ("x0", "x1")
