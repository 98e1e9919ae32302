"""Signatures of posts to webhooks, as Standard Webhooks defines them: HMAC-SHA256 over id, timestamp and body."""

import base64
import binascii
import hashlib
import hmac

SECRET_PREFIX = "whsec_"  # noqa: S105 - how secrets of Standard Webhooks begin
TIMESTAMP_HEADER, ID_HEADER, SIGNATURE_HEADER = "webhook-timestamp", "webhook-id", "webhook-signature"


def sign_message(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of the signature's header."""
    signed = hmac.new(secret, b"%b.%d.%b" % (message_id.encode(), timestamp, body), hashlib.sha256)
    return f"v1,{base64.b64encode(signed.digest()).decode()}"


def decode_secret(text: str) -> bytes:
    """The bytes of a secret: behind `whsec_` they are in base64. Raises ValueError."""
    if not text.startswith(SECRET_PREFIX):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("what follows whsec_ is no base64") from None
