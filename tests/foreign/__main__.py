"""One of these agents as a program: `python -m tests.foreign "Bare" --port 8105 --manager http://localhost:8000/mcp`."""

import argparse
import threading

from tests.foreign.managers import MANAGERS
from tests.foreign.players import PLAYERS
from tests.foreign.referees import REFEREES
from tests.foreign.v1_league import V1League


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.foreign", description=__doc__)
    parser.add_argument("agent", choices=[*PLAYERS, *REFEREES, *MANAGERS, V1League.name])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--manager", default="http://localhost:8000/mcp", help="where a player or referee registers")
    parser.add_argument("--players", type=int, default=4, help="so many a manager waits for")
    parser.add_argument("--referees", type=int, default=1, help="so many a manager waits for")
    told = parser.parse_args()
    if told.agent in MANAGERS:
        with MANAGERS[told.agent](told.port, told.players, told.referees) as manager:
            manager.over.wait()
    elif told.agent == V1League.name:
        with V1League(told.port, told.players) as league:
            league.over.wait()
    else:
        with {**PLAYERS, **REFEREES}[told.agent](told.port, told.manager) as agent:
            print(agent.register(), flush=True)  # noqa: T201 - a program's own terminal
            threading.Event().wait()


if __name__ == "__main__":
    main()
