"""Bounds in print that are formulas: one file each, or a small table."""
