"""From a description to formulas: proofs of order, blanket, classes of pairs; SymPy, exact, no floats."""
