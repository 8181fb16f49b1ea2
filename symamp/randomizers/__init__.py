"""Local randomizers: descriptions of what each user runs."""
