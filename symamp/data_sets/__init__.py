"""Data sets: every lower end. Who is tried, for one round and many, for noise, users who differ, inverse questions."""
