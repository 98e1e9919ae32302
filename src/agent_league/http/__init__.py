"""HTTP: client, server, limits and guard. Carries bytes and knows no message."""
