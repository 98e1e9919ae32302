"""What the tests of real MCP share: the tools that others judge a server with."""

import pytest

from tests.mcp.node_tools import NodeTools, NotInstalled, install


@pytest.fixture(scope="session")
def node_tools() -> NodeTools:
    """The conformance suite and Inspector; where they can't be had, the tests that need them skip and say why."""
    try:
        return install()
    except NotInstalled as error:
        pytest.skip(str(error))
