"""The commands, by name."""

import typer

from agent_league.cli import (
    admin,
    agents,
    check,
    evaluate,
    export,
    games,
    join,
    logs,
    new,
    play,
    replay,
    run,
    setup,
    show,
    simulate,
    simulate_faults,
    strategies,
    verify,
    watch,
)

app = typer.Typer(
    name="league",
    help="Leagues of autonomous agents that meet over an open protocol and play.",
    epilog="In a source checkout, ./league test runs all checks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("games")(games.games)
app.command("strategies")(strategies.strategies)
app.command("init")(setup.init)
app.command("manager")(agents.manager)
app.command("referee")(agents.referee)
app.command("player")(agents.player)
app.command("start")(admin.start)
app.command("admin")(admin.admin)
app.command("join")(join.join)
app.command("play")(play.play)
app.command("new")(new.new)
app.command("check")(check.check)
app.command("show")(show.show)
app.command("watch")(watch.watch)
app.command("logs")(logs.logs)
app.command("export")(export.export)
app.command("verify")(verify.verify)
app.command("replay")(replay.replay)
app.command("rebuild")(setup.rebuild)
app.command("evaluate")(evaluate.evaluate)
app.command("simulate")(simulate.simulate)
app.command("simulate-faults")(simulate_faults.simulate_faults)
app.command("schemas")(setup.schemas)
app.command("bench", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(setup.bench)
app.command("version")(setup.version)
