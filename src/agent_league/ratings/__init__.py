"""Ratings: how good players are, how sure that is, and when one number can't say it.

Pure arithmetic on results: no I/O, no clock, and chance only from a seed. `tables`, `rating_words`, `statistics`,
`sequential_test` and `rank_error` need the standard library alone. The other modules load numpy: import them where a
rating is computed.
"""
