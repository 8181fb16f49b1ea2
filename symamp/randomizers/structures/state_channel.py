"""One sampled coordinate through a channel: the message is (j, z), z depends on the state of coordinate j alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.randomizers.family import Family


class StateChannel(Family):
    """A family whose message is (j, z): j uniform over the coordinates, z from P(z | state of coordinate j).

    Inputs are vectors of states. Distinguished ones are described by their joint counts: how many coordinates have
    which combination of states. Every state occurs at every coordinate for some input, so the infimum over inputs is
    that over states, coordinate by coordinate.

    The component law of a pair is the sum, over coordinates, of what the two states contribute. Two identities order
    the pairs, for every E >= 0 and so for every number of users. With r the ratios to the infimum, u and v states:
    (u, u) and (v, v) at two coordinates together are below (u, v) and (v, u), because r_u - E r_v and r_v - E r_u
    is a mean-preserving spread of (1 - E) r_u and (1 - E) r_v. And a contribution is convex in the two channel rows,
    so that states which mix others never make a worse pair.
    """

    _internal_names = "channel coordinate_number joint_counts"

    lists_all_inputs = False  # vectors that mix states otherwise are not shown

    @abstractmethod
    def coordinate_number(self) -> sp.Expr:
        """Return the number of coordinates."""

    @abstractmethod
    def channel(self) -> Mapping[str, Mapping[str, sp.Expr]]:
        """Return P(z | state) as {state: {z: probability}}."""

    @abstractmethod
    def joint_counts(self) -> tuple[tuple[sp.Expr, Mapping[str, str]], ...]:
        """Return (number of coordinates, {input: its state there}), which together make up all coordinates."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs whose joint counts are given."""
        return tuple(self.joint_counts()[0][1])

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """One orbit for each combination of states and each z."""
        d, channel = self.coordinate_number(), self.channel()
        numbers: dict[tuple[str, ...], sp.Expr] = {}
        for number, states in self.joint_counts():
            seen = tuple(states[x] for x in distinguished)
            numbers[seen] = numbers.get(seen, sp.Integer(0)) + number
        return tuple(
            Orbit(
                f"z = {z} at a coordinate with states {', '.join(seen)}",
                number,
                tuple(channel[state][z] / d for state in seen),
                tuple((row[z] / d, None if state in seen else sp.Integer(1)) for state, row in channel.items()),
            )
            for seen, number in numbers.items()
            if number != 0
            for z in channel[seen[0]]
        )
