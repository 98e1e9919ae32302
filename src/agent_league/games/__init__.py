"""Games: the interface of a game's rules, the registry that finds games, and one folder for each game."""
