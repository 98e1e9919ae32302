"""`webhooks` of a league file or of `system.json`: where news of leagues are posted, and in which form."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from agent_league.config.base import ConfigModel

WebhookEvent = Literal["start", "round", "correction", "crash", "end"]
ALL_EVENTS: tuple[WebhookEvent, ...] = ("start", "round", "correction", "crash", "end")
_ADDRESS = re.compile(r"https?://[^\s/@?#]+(/\S*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)


def check_webhook_url(address: str) -> str:
    """Return a webhook's address; raises ValueError, which doesn't repeat it as it may be a secret."""
    if not _ADDRESS.fullmatch(address) or len(address) > 2000 or not address.isprintable():
        raise ValueError("Input should be an address such as https://chat.example.org/hook, without a password")
    return address


def _check_variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError("Input should be the name of an environment variable, such as LEAGUE_HOOK")
    return name


VariableName = Annotated[str, AfterValidator(_check_variable)]


class WebhookConfig(ConfigModel):
    """An address to which news of a league are posted. Slack's and Discord's addresses are secrets themselves."""

    url: Annotated[str, AfterValidator(check_webhook_url)] | None = Field(default=None, repr=False)
    """The address, if it is no secret."""
    url_env: VariableName | None = None
    """The environment variable that holds the address."""
    url_file: str | None = None
    """The file that holds the address; relative to the SHARED folder."""
    kind: Literal["json", "slack", "discord"] = "json"
    """The form in which news are posted."""
    events: tuple[WebhookEvent, ...] = ALL_EVENTS
    """The news that are posted."""
    secret_env: VariableName | None = None
    """The environment variable with the secret that signs JSON."""
    secret_file: str | None = None
    """The file with that secret; relative to the SHARED folder."""

    @model_validator(mode="after")
    def _check_sources(self) -> Self:
        if sum(one is not None for one in (self.url, self.url_env, self.url_file)) != 1:
            raise ValueError("Input should have exactly one of url, url_env and url_file")
        secrets = [one for one in (self.secret_env, self.secret_file) if one is not None]
        if len(secrets) > 1:
            raise ValueError("Input should have at most one of secret_env and secret_file")
        if secrets and self.kind != "json":
            raise ValueError("Input should have a secret only with kind json, as the others aren't signed")
        return self
