"""From laws to enclosures of E[S_+]: floats for the search, balls for the guarantee."""
