"""The words everybody inside shares: frozen dataclasses and closed sets, no behaviour at the edge."""
