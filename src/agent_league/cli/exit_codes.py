"""Exit codes of the commands; 0 is success."""

EXIT_FAILED = 1
"""The league, or what was checked, failed."""
EXIT_WRONG_INPUT = 2
"""Something in the command or the configuration is wrong."""
EXIT_INTERRUPTED = 130
