"""What the page of a match is made of: positions drawn, and what was said."""
