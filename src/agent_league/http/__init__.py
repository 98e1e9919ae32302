"""HTTP: client, server, their limits, header checks and event streams. Carries bytes and knows no message."""
