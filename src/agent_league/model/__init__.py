"""The concepts that all packages share, as frozen dataclasses and enums: agents, schedule, results, events, names."""
