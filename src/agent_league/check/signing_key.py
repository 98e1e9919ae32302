"""The signing key of the checker's manager: random, stored in the user's cache folder.

An agent that registers with the checker remembers the public key. If it doesn't register again, the next check needs
the same key; and no other user may be able to sign as the checker.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from agent_league.protocol.tokens import SigningKey

KEY_FILE = Path("agent-league") / "check-key"


def load_checker_key() -> tuple[SigningKey, str | None]:
    """Load the stored key, or create it; if it can't be stored, return a new one and a sentence that says so."""
    try:
        file = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / KEY_FILE
        if not file.exists():
            create_key_file(file)
        return SigningKey.load(file.read_text(encoding="utf-8")), None
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: no home directory
        return SigningKey.generate(), (
            f"The checker's key can't be kept ({error}): an agent that doesn't register again won't trust the next "
            "check. $XDG_CACHE_HOME says where it is kept."
        )


def create_key_file(file: Path) -> None:
    """Create the key file atomically; a file that another check created meanwhile stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent)  # readable for its owner alone
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(SigningKey.generate().private_jwk)
        with suppress(FileExistsError):
            os.link(name, file)
    finally:
        Path(name).unlink()
