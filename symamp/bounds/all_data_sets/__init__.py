"""The bound over all data sets at once: its pairs, the rows of a table, and every randomizer of a budget."""
