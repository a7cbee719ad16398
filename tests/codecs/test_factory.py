"""The factory: what it prepares is what it opens later."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.factory import open_encoder, prepare_encoder
from codecpilot.codecs.libaom import ENVIRONMENT, find_libaom
from codecpilot.codecs.types import Codec


@pytest.fixture(autouse=True)
def cold() -> Iterator[None]:
    """No library is loaded, before and after."""
    find_libaom.cache_clear()
    yield
    find_libaom.cache_clear()


@pytest.mark.parametrize(("codec", "loaded"), [(Codec.AV1, 1), (Codec.H264, 0)])
def test_preparing_loads_the_library_that_opening_uses(codec: Codec, loaded: int) -> None:
    prepare_encoder(codec)
    assert find_libaom.cache_info().currsize == loaded
    open_encoder(codec, width=64, height=64).close()
    assert find_libaom.cache_info().misses == loaded


def test_a_missing_library_is_told_on_opening_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "/nowhere/libaom.so")
    prepare_encoder(Codec.AV1)
    with pytest.raises(LocalError, match="no usable libaom"):
        open_encoder(Codec.AV1, width=64, height=64)
