"""Shared by manager, referee and player: dispatcher, clients, registration, notices, metrics. Knows no league."""
