"""The profile of a round, and what an accountant does with it: rounds, Renyi, trade-off, export."""
