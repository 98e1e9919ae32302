"""Loading Python files that aren't installed, such as a user's strategy or the rules of a game.

Knows nothing of what is in them.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from zlib import crc32

from agent_league.errors import ConfigError
from agent_league.text import MAX_PHRASE, quote

SUFFIX = ".py"


def is_python_file(name: str) -> bool:
    """Whether a name is that of a Python file rather than of an installed strategy or game."""
    return name.endswith(SUFFIX)


def load_python_file(path: Path) -> ModuleType:
    """Run a Python file and return its module; it may import the files beside it. Raises ConfigError."""
    if not path.is_file():
        raise ConfigError(path, "", "there is no such file")
    path = path.resolve()
    spec = spec_from_file_location(f"_file_{path.stem}_{crc32(bytes(path)):08x}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(path, "", "expected a Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ConfigError(path, f"line {error.lineno}", f"not Python: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(path, "", f"can't be run: {quote(error, MAX_PHRASE)}") from error
    return module
