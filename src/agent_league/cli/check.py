"""`league check`: check anybody's agent or match record, print the steps, write the reports."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_league.cli.options import (
    AllowOriginOption,
    CallTimeoutOption,
    JsonOption,
    SecretFileOption,
    interrupt_on_sigterm,
    load_requested_game,
)
from agent_league.cli.terminal import print_json, print_remark, write_to_stdout
from agent_league.errors import UserError
from agent_league.text import to_printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_league.check.steps import CheckReport, StepOutcome
    from agent_league.check.subject import CheckOptions


STARTED_URL = "http://localhost:8101/mcp"
STARTING_SECONDS = 20.0
"""Least time for an agent that is started to appear and to register."""
MANAGER_PORTS = (8000, 8099)
"""Where the checker plays the manager of an agent that it starts: the first that is free."""


class CheckedRole(StrEnum):
    """The choices of `--role`."""

    PLAYER = "player"
    REFEREE = "referee"
    MANAGER = "manager"


def check(
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The agent, such as http://localhost:8101/mcp.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help='Start the agent, check it and stop it, such as --start "python player.py"; the address is then '
            "http://localhost:8101/mcp, or where it listens, unless another is named.",
        ),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option(metavar="GAME", help="Judge a player in this game (default: Even/Odd, or the first it names)."),
    ] = None,
    role: Annotated[CheckedRole | None, typer.Option(help="What the agent is (default: found out).")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Tolerate nothing: a warning is a failure.")] = False,
    json: JsonOption = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report for CI systems.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report to read and to hand in.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the details of passed steps too.")] = False,
    timeout: CallTimeoutOption = None,
    wait: Annotated[
        float, typer.Option(min=0, max=600, metavar="SECONDS", help="Time for the agent to appear and to register.")
    ] = 3.0,
    manager_port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where the checker plays the manager (default: 8000 where that is free)."),
    ] = None,
    admin_token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of a manager under check: what allows to start its league.")
    ] = None,
    a2a: Annotated[bool, typer.Option("--a2a", help="Check an A2A agent by its card (default: found out).")] = False,
    secret_file: SecretFileOption = None,
    allow_origin: AllowOriginOption = None,
    itself: Annotated[bool, typer.Option("--self", help="Check our own three agents instead.")] = False,
    record: Annotated[
        str | None, typer.Option(metavar="PATH", help="Validate a transcript or match files instead.")
    ] = None,
) -> None:
    """Check a running player, referee, manager or A2A agent from outside, step by step.

    Each step says what was sent, what was expected and what came; where something is wrong, how to mend it. A manager's
    league is used up by the check. Exit code 0: all passed. 1: something failed. 2: nothing could be checked.
    """
    is_named = url is not None
    url = _choose_address(url, start, game, is_other=itself or record is not None)
    if record is not None:
        _reject_options_with_record({"--html": html, "--junit": junit, "--strict": strict})
        if not record.strip():
            raise UserError("--record: expected the path of a file or a folder, came an empty one")
        raise typer.Exit(_check_record(Path(record), as_json=json))
    if a2a and (role not in (None, CheckedRole.PLAYER) or url is None):
        raise UserError(
            f"--a2a: an A2A agent is a player, with an address; not with {f'--role {role}' if url else '--self'}"
        )
    for path in filter(None, (junit, html)):
        _check_writable(path)
    from agent_league.check.check import ROLES_BY_NAME, check_agent
    from agent_league.check.reports import TerminalReport
    from agent_league.check.subject import CheckOptions
    from agent_league.cli.check_self import check_own_agents
    from agent_league.launch.serving import run_async

    terminal = TerminalReport(in_full=verbose)
    wait = max(wait, STARTING_SECONDS) if start else wait
    token = _read_admin_token(admin_token_file)
    options = CheckOptions(timeout=timeout, wait_seconds=wait, admin_token=token, game=game)

    def watch(outcome: "StepOutcome") -> None:
        if not json:
            _print_lines(terminal.format_outcome(outcome))

    if start is not None and url is not None:
        how: dict[str, Any] = {"role": ROLES_BY_NAME[role] if role else None, "options": options, "strict": strict}
        reports = [_check_started_agent(start, url, manager_port, how, watch, is_named=is_named)]
    elif url is None:
        reports = run_async(check_own_agents(options, strict=strict, on_outcome=watch))
    elif a2a or (role is None and run_async(_is_a2a_agent(url))):
        reports = [run_async(_check_a2a_agent(url, options, secret_file, allow_origin, strict=strict, watch=watch))]
    else:
        known = ROLES_BY_NAME[role] if role else None
        how = {"role": known, "options": options, "manager_port": manager_port, "strict": strict}
        reports = [run_async(check_agent(url, **how, on_outcome=watch))]
    if not json:
        _print_lines(terminal.flush_skipped())
    _write_reports(reports, as_json=json, junit=junit, html=html)
    if code := max(report.exit_code for report in reports):
        raise typer.Exit(code)


def _choose_address(url: str | None, start: str | None, game: str | None, *, is_other: bool) -> str | None:
    """Return the address of the agent to check, None if it `is_other`; raises UserError unless one thing is named."""
    if game is not None:
        load_requested_game(None, game, {})
    if start is not None and is_other:
        raise UserError("--start: starts an agent to check; leave out --self and --record")
    url = url or (STARTED_URL if start is not None else None)
    if (url is not None) is is_other:
        raise UserError(
            'expected one thing to check: the address of an agent, --start "COMMAND", --self or --record PATH'
        )
    return url


def _check_started_agent(
    command: str,
    url: str,
    manager_port: int | None,
    how: "Mapping[str, Any]",
    watch: "Callable[[StepOutcome], None]",
    *,
    is_named: bool,
) -> "CheckReport":
    """Start an agent, check it, and stop it with all that it started, whatever happens.

    Unless the user has named an address (`is_named`), it is checked at the port at which it listens.
    """
    from agent_league.check.check import check_agent
    from agent_league.check.started_agent import is_listening, start_agent
    from agent_league.http.hosts import LOOPBACK
    from agent_league.launch.serving import find_free_port, run_async

    if is_listening(url):
        raise UserError(
            f"--start: something listens at {url} already, so `{command}` can't; stop that, or name another address"
        )
    port = manager_port or find_free_port(LOOPBACK, MANAGER_PORTS)
    with interrupt_on_sigterm(), start_agent(command, port) as agent:
        url = agent.wait_until_listening(url, STARTING_SECONDS, is_named=is_named)
        report = run_async(check_agent(url, **how, manager_port=port, on_outcome=watch))
        for line in agent.describe_output().splitlines():
            print_remark(line)
        return report


async def _is_a2a_agent(url: str) -> bool:
    """Whether an address is that of an A2A agent and of no agent of a league; False without the extra `a2a`."""
    from agent_league.a2a import CARD_PATH, has_a2a_sdk
    from agent_league.check.check import is_a2a_agent

    return has_a2a_sdk() and (url.endswith(CARD_PATH) or await is_a2a_agent(url))


async def _check_a2a_agent(
    url: str,
    options: "CheckOptions",
    secret_file: Path | None,
    allow_origin: list[str] | None,
    *,
    strict: bool,
    watch: "Callable[[StepOutcome], None]",
) -> "CheckReport":
    from agent_league.a2a import require_a2a_sdk

    with require_a2a_sdk():
        from agent_league.check.a2a_agent import check_a2a_agent
        from agent_league.cli.invite_a2a import check_origins, read_secret

    origins = check_origins(allow_origin)
    return await check_a2a_agent(url, options, read_secret(secret_file), origins, strict=strict, on_outcome=watch)


def _check_record(path: Path, *, as_json: bool) -> int:
    from agent_league.check.transcript_check import validate_transcripts

    report = validate_transcripts(path)
    if as_json:
        print_json(report.to_json())
    else:
        _print_lines(report.format_lines())
    return report.exit_code


def _reject_options_with_record(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        raise UserError(f"{' and '.join(given)}: only for the check of an agent; --record goes with --json alone")


def _check_writable(path: Path) -> None:
    """Raise UserError before the check if a report can't be written after it."""
    is_new = not path.exists()
    try:
        path.open("ab").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise UserError(f"can't write the report {path}: {error.strerror}") from None


def _read_admin_token(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"can't read the admin token in {path}: {error}") from None


def _print_lines(lines: Iterable[str]) -> None:
    if text := "\n".join(lines):
        write_to_stdout(text.encode(sys.stdout.encoding, errors="replace"))


def _write_reports(reports: "Sequence[CheckReport]", *, as_json: bool, junit: Path | None, html: Path | None) -> None:
    from agent_league.check import reports as forms

    if as_json:
        write_to_stdout(forms.to_json(reports).encode())
    else:
        for report in reports:
            lines = [
                *forms.format_failures(report),
                forms.format_summary(report),
                f"Dialect: {report.dialect}",
                *report.remarks,
            ]
            lines.append(forms.format_conclusion(report))
            _print_lines(["", *map(to_printable, lines)])
    for path, content in ((junit, forms.to_junit), (html, forms.to_html)):
        if path is not None:
            path.write_text(content(reports), encoding="utf-8")
