"""The league layer: registration, schedule, rounds and standings. It knows players and referees, but no game."""
