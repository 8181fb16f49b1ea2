"""What each user runs: descriptions of local randomizers, and nothing else."""
