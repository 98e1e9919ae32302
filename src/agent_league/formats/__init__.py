"""Tournament formats: who meets whom in the next round, and who is ahead."""
