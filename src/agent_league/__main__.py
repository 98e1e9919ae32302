"""`python -m agent_league` is the command `league`."""

import sys

from agent_league.cli import main

if __name__ == "__main__":
    sys.exit(main())
