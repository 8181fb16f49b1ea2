"""Every bound in print, beside what is derived."""
