"""The questions people ask, and answers that carry their evidence."""
