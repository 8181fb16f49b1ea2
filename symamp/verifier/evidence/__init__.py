"""What proves an end of a certificate: one file for each kind of evidence."""
