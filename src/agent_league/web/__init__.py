"""The league's web pages, their live feed, and the same pages as files. Reads the league's state, never changes it."""
