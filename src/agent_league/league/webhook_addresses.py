"""Where a league's webhooks are, and their secrets: read from its files and the environment, checked, never logged."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.config.webhooks import WebhookConfig, check_webhook_url
from agent_league.errors import UserError
from agent_league.http.checked_resolver import find_forbidden_host
from agent_league.http.webhook_signature import decode_secret

MAX_SECRET_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook whose address and secret are known."""

    name: str
    """Its place in the file and its host, for the log."""
    config: WebhookConfig
    url: str = field(repr=False)
    secret: bytes | None = field(default=None, repr=False)


def load_webhooks(
    league: LeagueConfig, system: SystemConfig, home: Path, environ: Mapping[str, str] | None = None
) -> list[Webhook]:
    """Read the addresses and secrets of all webhooks of a league; raises UserError, which names the setting."""
    found: list[Webhook] = []
    given = {"system.json": system.webhooks, f"leagues/{league.league_id}.json": league.webhooks}
    hosts = (*system.network.allowed_hosts, *system.network.webhook_hosts)
    for file, webhooks in given.items():
        for number, config in enumerate(webhooks):
            if any(config == known.config for known in found):
                continue  # --set names it for both files
            place = f"{file}: webhooks.{number}"
            url = config.url or _read_secret(place, "url", config.url_env, config.url_file, home, environ)
            secret = _read_secret(place, "secret", config.secret_env, config.secret_file, home, environ)
            found.append(_make_webhook(place, config, url or "", secret, hosts))
    return found


def _make_webhook(place: str, config: WebhookConfig, url: str, secret: str | None, hosts: Sequence[str]) -> Webhook:
    try:
        check_webhook_url(url)
        key = decode_secret(secret) if secret else None
    except ValueError as error:
        raise UserError(f"{place}: {str(error).replace('Input', 'it', 1)}") from None
    if host := find_forbidden_host(url, hosts):
        raise UserError(
            f"{place}: the host {host!r} is not allowed; system.json lists those that are, in network.webhook_hosts"
        )
    return Webhook(f"{place} ({urlsplit(url).hostname})", config, url, key)


def _read_secret(
    place: str, what: str, variable: str | None, file: str | None, home: Path, environ: Mapping[str, str] | None
) -> str | None:
    """Read an address or a secret from the environment or a file; None if the setting names neither."""
    if variable is not None:
        value = (os.environ if environ is None else environ).get(variable, "").strip()
        if not value:
            raise UserError(f"{place}.{what}_env: the environment variable {variable} is not set")
        return value
    if file is None:
        return None
    try:
        with (home / file).open(encoding="utf-8") as stream:
            value = stream.read(MAX_SECRET_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        raise UserError(f"{place}.{what}_file: can't read {file}: {why}") from None
    if not value:
        raise UserError(f"{place}.{what}_file: {file} is empty")
    return value
