"""Questions and answers: epsilon, delta, curves, risks, each answer with its evidence."""
