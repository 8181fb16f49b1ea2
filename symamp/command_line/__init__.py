"""The command line: arguments, printing, and errors."""
