"""The key of the checker's own manager: random, and kept in the user's cache folder.

An agent that registers with the checker remembers that key. Where it doesn't register again, the next check must be
able to go on with it; and nobody else may be able to sign in the checker's name.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from agent_league.protocol.tokens import SigningKey

NAME = Path("agent-league") / "check-key"


def checker_key() -> tuple[SigningKey, str | None]:
    """The key that is kept, made where there is none; beside it, a sentence where it can't be kept."""
    try:
        file = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / NAME
        if not file.exists():
            make_key(file)
        return SigningKey.load(file.read_text(encoding="utf-8")), None
    except (OSError, ValueError, RuntimeError) as error:  # the last where there is no home
        return SigningKey.new(), (
            f"The checker's key can't be kept ({error}): an agent that doesn't register again won't trust the next "
            "check. $XDG_CACHE_HOME says where it is kept."
        )


def make_key(file: Path) -> None:
    """A new key, whole from the first moment; the one of another check that was faster stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent)  # readable for its owner alone
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(SigningKey.new().saved)
        with suppress(FileExistsError):
            os.link(name, file)
    finally:
        Path(name).unlink()
