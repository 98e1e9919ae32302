"""The parts of a match's page: drawn positions and the conversation."""
