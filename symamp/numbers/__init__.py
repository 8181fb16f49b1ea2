"""Exact numbers, the safe parser, the number systems, and the arguments of public functions."""
