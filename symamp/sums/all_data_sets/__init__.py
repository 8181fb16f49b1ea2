"""The bound over all data sets at once: laws, search, integral."""
