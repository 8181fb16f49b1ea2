"""The catalogue: one family a file, found by ``symamp.randomizers.catalogue``."""
