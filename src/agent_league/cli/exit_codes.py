"""Exit codes of the commands; 0 is success."""

FAILED = 1
"""The league, or what was checked, failed."""
WRONG_INPUT = 2
"""Something in the command or the configuration is wrong."""
INTERRUPTED = 130
