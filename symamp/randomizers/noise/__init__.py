"""Mechanisms whose messages are real numbers."""
