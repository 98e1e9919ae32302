"""Games: the seam every game fills, the registry that finds them, and one folder a game."""
