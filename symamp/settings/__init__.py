"""Settings: who takes part, who is compared, what is seen."""
