"""The parts of the command line: what its arguments mean, how answers are printed, how it fails."""
