"""Exact algebra of formulas: normal form, proofs of sign and order; knows parameters and nothing of privacy."""
