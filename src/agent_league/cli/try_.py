"""`league try`: play a file with `choose` against a strategy by the rules alone, and write its worst loss down."""

import io
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import (
    JsonOption,
    ParamOption,
    find_config,
    load_requested_game,
    parse_game_parameters,
    require_utf8,
)
from agent_league.cli.terminal import (
    EXIT_FAILED,
    STDOUT,
    divert_prints,
    make_stdout_console,
    print_json,
    print_lines,
    print_remark,
    show_progress_bar,
    write_output,
)
from agent_league.errors import UserError

if TYPE_CHECKING:
    from agent_league.games.registry import Game
    from agent_league.lab.trial import LostGame, Trial

WORST_LOSS_FILE = Path("worst-loss.json")
LUCK = "even_odd"
SLOW_SECONDS = 10
"""After so long without an end somebody who waits is told for what."""


def try_(
    player: Annotated[
        str, typer.Argument(metavar="FILE", help="A Python file with choose(observation), or a strategy.")
    ],
    against: Annotated[
        str, typer.Option(metavar="NAME", help="Whom it meets: a strategy or a Python file.")
    ] = "random",
    game: Annotated[
        str | None,
        typer.Option(
            help="The game to play, see `league games` (default: what both are made for, or one that FILE can play).",
            metavar="GAME",
        ),
    ] = None,
    param: ParamOption = None,
    games: Annotated[int, typer.Option(min=1, max=1_000_000, help="Games to play, sides alternating.")] = 100,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same games.")] = None,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where the worst loss is written, for `league replay`; its page beside it."),
    ] = WORST_LOSS_FILE,
    json: JsonOption = False,
) -> None:
    """Try a player of your own in seconds: no servers, a result, and its worst loss to look at.

    Both remember all games, and nobody else's. A choice that fails or breaks the rules becomes a random move and is
    counted, with the first one told; then the exit code is 1. The worst loss is the one by most; of equal ones, the
    shortest.
    """
    from agent_league.lab.comparison import plays_by_rules
    from agent_league.lab.trial import Trial
    from agent_league.players.strategies import find_game_mismatch

    parameters = parse_game_parameters(param)
    with divert_prints():
        if not plays_by_rules((player, against)):
            raise UserError(
                "league try: expected strategies or files whose choose is a plain function; `league compare` takes "
                "addresses and those that wait"
            )
    chosen = _load_game(game, parameters, (player, against))
    for name in (player, against):
        if mismatch := find_game_mismatch(name, chosen.game_type):
            print_remark(mismatch)
    if chosen.game_type == LUCK:
        print_remark("Even/Odd is luck, whatever a player does; --game tic_tac_toe, for example, is not.")
    seed = require_utf8(seed, "--seed") if seed is not None else str(secrets.randbelow(10**9))
    trial = Trial(chosen, (player, against), seed)
    with divert_prints(), show_progress_bar(quiet=json) as progress:
        task = progress.add_task(trial.title, total=games)
        for number in range(games):
            with _tell_if_slow("its first game isn't over") if number == 0 else nullcontext():
                trial.play_game()
            progress.advance(task)
    loss = trial.worst_loss
    page = _write_loss(loss, trial, out) if loss else None
    if json:
        files = {"worst_loss": str(out) if loss else None, "worst_loss_page": str(page) if page else None}
        print_json({**trial.to_json(), **files})
    else:
        print_lines(make_stdout_console(), trial.describe())
        if page:
            shown = f"{page.resolve().as_uri()}, or `league replay {shlex.quote(str(out))}`"
            print_remark(f"Its worst loss, step by step: {shown}")
    if trial.has_faults:
        raise typer.Exit(EXIT_FAILED)


@contextmanager
def _tell_if_slow(what: str) -> Iterator[None]:
    """Print what is waited for, if leaving this context takes long: a choice can't be stopped from outside."""
    timer = Timer(SLOW_SECONDS, print_remark, [f"After {SLOW_SECONDS} s {what}; Ctrl-C ends it."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _load_game(game: str | None, parameters: dict[str, Any], players: tuple[str, str]) -> "Game":
    """Load the game that was asked for, else one that the players can play, and print which and why."""
    from agent_league.games.registry import game_types
    from agent_league.lab.trial import choose_game

    if game is None:
        hidden = io.StringIO()  # what the player prints in games that don't count
        with _tell_if_slow("no game is known yet that it plays"), redirect_stdout(hidden):
            choice = choose_game(players, game_types())
        print_remark(f"The game is {choice.game_type}, {choice.reason}; --game NAME plays another.")
        game = choice.game_type
    return load_requested_game(find_config(), game, parameters)


def _write_loss(loss: "LostGame", trial: "Trial", out: Path) -> Path | None:
    """Write a game as a match file, and as a page beside it, whose path is returned; no page if it goes to stdout."""
    import orjson

    from agent_league.web.match_report import render_match_report

    written = loss.write_match_file(trial)
    write_output(str(out), written)
    if str(out) == STDOUT:
        return None
    content = orjson.loads(written)
    page = out.with_suffix(".html")
    names = tuple(content["players"].values())
    write_output(str(page), render_match_report(content, names, content["result"]["reason"]).encode())
    return page
