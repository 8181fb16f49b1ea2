"""Certificates: the claim of an answer with all that is needed to check it without a search."""
