"""Laws as numbers, made from formulas elsewhere: no SymPy here."""
