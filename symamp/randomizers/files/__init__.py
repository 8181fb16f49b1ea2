"""Mechanisms from JSON files: one reader a format."""
