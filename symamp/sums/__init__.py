"""From laws to enclosures: floats for the search, balls for the guarantee; no SymPy."""
