"""What the page of a player is made of: charts, how it plays, what it noted."""
