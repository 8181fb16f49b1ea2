"""From formulas to triples (A0, A1, A2) with a proof status."""
