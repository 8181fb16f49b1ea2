"""Laws: what crosses from formulas to numbers. No SymPy."""
