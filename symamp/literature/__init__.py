"""Published bounds, compared with certified brackets."""
