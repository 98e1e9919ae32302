"""Players: sensors, decision and actuators apart, a memory, and a strategy that knows no wire."""
