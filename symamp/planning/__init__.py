"""Plans: questions asked backwards, and which mechanisms meet a central guarantee with the least error."""
