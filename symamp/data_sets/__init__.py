"""Data sets: every lower end, for one round, many rounds, noise, users who differ and inverse questions."""
