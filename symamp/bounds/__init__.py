"""Upper bounds: triples (A0, A1, A2) with a proof status, and bounds that are no triples."""
