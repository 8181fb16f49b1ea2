"""Every bound in print, compared with what is certified."""
