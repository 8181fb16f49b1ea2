"""Sums of independent laws by kernels on a vertical line: payoffs, tilts and windows, in doubles and in balls."""
