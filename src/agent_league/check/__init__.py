"""Check any agent from outside: each step says what was sent, what was expected, what came and how to fix it."""
