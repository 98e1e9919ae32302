"""What manager, referee and player share: calls answered and made, registration, notices, metrics. Knows no league."""
