"""`python -m agent_league` is the command `league`."""

from agent_league.cli import main

if __name__ == "__main__":
    main()
