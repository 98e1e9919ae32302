"""`league assess`: serve the league as an A2A agent that assesses others, as a green agent of AgentBeats does."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from agent_league.cli.options import HostOption, PortOption, SettingsOption
from agent_league.cli.terminal import print_remark
from agent_league.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_league.lab.assessment import AssessmentRequest


def assess(
    host: HostOption = "127.0.0.1",
    port: PortOption = 9009,
    card_url: Annotated[
        str | None, typer.Option(help="The address that the card names (default: where it listens).", metavar="URL")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep the files of each league in a folder below DIR.", metavar="DIR")
    ] = None,
    limit: Annotated[
        float,
        typer.Option("--time-limit", min=1, max=86400, help="Seconds that one assessment may take.", metavar="SECONDS"),
    ] = 3600,
    settings: SettingsOption = None,
) -> None:
    """Assess A2A agents: take roles and addresses over A2A, play a league, answer with ratings.

    It is a green agent of AgentBeats. Agents are called only at hosts of network.allowed_hosts (this machine, unless
    --set says otherwise).
    """
    from agent_league.a2a import require_a2a_sdk
    from agent_league.config.loader import parse_overrides
    from agent_league.launch.serving import run_async

    with require_a2a_sdk():
        from agent_league.a2a.assessment_server import build_assessor_card, make_assessment_app
        from agent_league.a2a.sdk_log import redirect_sdk_log
        from agent_league.lab.assessment import Assessor, parse_request

    from agent_league.http.hosts import WILDCARD_HOSTS, parse_typed_address
    from agent_league.http.server import HttpServer
    from agent_league.launch.agent_app import make_header_check
    from agent_league.launch.play_function import interrupt_event
    from agent_league.version import __version__

    if card_url is not None:
        parts = parse_typed_address(card_url)
        if parts is None or "@" in parts.netloc or parts.query or parts.fragment:
            raise UserError(f"--card-url {card_url!r} is no address; expected one such as http://localhost:{port}/")
        card_url = parts.geturl()
    overrides = parse_overrides(settings or [])
    assessor = Assessor(overrides, limit)
    system = assessor.load_system()
    if out is not None:
        assessor.check_folder(out)
    name = system.network.base_host if host in (*WILDCARD_HOSTS, "127.0.0.1") else host
    url = card_url or f"http://{f'[{name}]' if ':' in name else name}:{port}/"
    hosts = [host, urlsplit(url).hostname or ""]

    async def play(wanted: "AssessmentRequest", task_id: str, progress: "Callable[[str], None]") -> dict[str, Any]:
        with assessor.open_folder(out, task_id) as folder:
            return await assessor.play(wanted, folder, progress)

    async def serve() -> None:
        check = make_header_check(system.network, hosts)
        app = make_assessment_app(build_assessor_card(url, __version__), parse_request, play, check)
        server = HttpServer(app, host, port, "the assessor", "Choose another with --port.")
        stop = interrupt_event()
        with redirect_sdk_log(print_remark):
            await server.start()
            print_remark(f"Assesses A2A agents at {url}; Ctrl-C ends it.")
            try:
                await stop.wait()
            finally:
                await server.stop()

    run_async(serve())
