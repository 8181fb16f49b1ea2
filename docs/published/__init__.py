"""What the papers print, held against what is derived: ``python -m published`` in the folder docs prints it all."""
