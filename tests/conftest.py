"""Fixtures that every folder shares."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

# No deadline an example: a busy machine is slow. And 60 of them, not 100: the suite is to take ten minutes at most.
hypothesis.settings.register_profile("codecpilot", deadline=None, max_examples=60)
hypothesis.settings.load_profile("codecpilot")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of clips, traces and dumps beside the checkout; skips where there is none."""
    if not SHARED.is_dir():
        pytest.skip("needs the evaluation data folder beside the checkout")
    return SHARED
