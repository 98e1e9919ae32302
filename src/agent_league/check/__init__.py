"""Judging anybody's agent from outside: what is sent, what was expected, what came, and how to mend it."""
