"""An emulated link each way between us and Chromium, on the loopback interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from aioice import ice

from codecpilot.samples.call.link_path import LinkPath, open_path


@asynccontextmanager
async def linked(link: Mapping[str, str], *, seed: int = 1) -> AsyncIterator[LinkPath]:
    """link has the scenario's keys; losses and changes of rate begin with arm()."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
        path = open_path(link, seed=seed)
        await path.start()
        try:
            yield path
        finally:
            path.close()
