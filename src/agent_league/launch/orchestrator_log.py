"""The system's log, `logs/system/orchestrator.log.jsonl`: when any command started and ended agents."""

from pathlib import Path

from agent_league.config import SystemConfig
from agent_league.log import JsonLogger
from agent_league.storage.paths import DataPaths


def open_orchestrator_log(home: Path, system: SystemConfig) -> JsonLogger:
    """Open the log in which every process that runs agents of this folder writes when they start and end."""
    return JsonLogger(
        "orchestrator", log_root=DataPaths(home).logs_folder, folder="system", **system.logging.logger_options
    )
