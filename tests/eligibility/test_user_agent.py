"""A browser tells of its device what it tells, and what it hides is left empty."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.eligibility.importers.user_agent import device_facts, from_user_agent
from codecpilot.eligibility.schema import COLUMNS

from .rows import row, table

AGENTS = {
    "(Linux; Android 12; Pixel 6 Build/SD1A.210817.023; wv) Chrome/95": (
        {"os": "android", "os_version": "12", "device_model": "Pixel 6", "device_brand": "google"}
    ),
    "(Linux; U; Android 8.1.0; en-us; Redmi 5 Build/X) Chrome/80": (
        {
            "os": "android",
            "os_version": "8.1.0",
            "device_model": "Redmi 5",
            "device_brand": "xiaomi",
        }
    ),
    "(Linux; Android 11; SM-G991B) Chrome/95": (
        {"os": "android", "os_version": "11", "device_model": "SM-G991B", "device_brand": "samsung"}
    ),
    "(Linux; Android 10; K) Chrome/120": {"os": "android"},
    "(Android 13; Mobile; rv:109.0) Gecko/118.0": {"os": "android", "os_version": "13"},
    "(iPhone; CPU iPhone OS 17_0_1 like Mac OS X)": (
        {"os": "ios", "os_version": "17.0.1", "device_brand": "apple"}
    ),
    "(Macintosh; Intel Mac OS X 10_15_7)": {"os": "macos", "device_brand": "apple"},
    "(Windows NT 10.0; Win64; x64)": {"os": "windows"},
    "(X11; CrOS x86_64 14541.0.0)": {"os": "chromeos", "os_version": "14541.0.0"},
    "(X11; Linux x86_64)": {"os": "linux"},
    "curl/8": {},
}


@pytest.mark.parametrize("agent", AGENTS)
def test_user_agents(agent):
    assert from_user_agent("Mozilla/5.0 " + agent) == AGENTS[agent]


def test_hints_say_what_the_agent_hides():
    hints = {"platform": "Android", "platformVersion": "14.0.0", "model": "Pixel 8"}
    agent = "Mozilla/5.0 (Linux; Android 10; K) Chrome/120"

    assert device_facts({"userAgent": agent, "userAgentData": hints}) == {
        "os": "android",
        "os_version": "14.0.0",
        "device_model": "Pixel 8",
        "device_brand": "google",
    }


@pytest.mark.parametrize(
    ("gib", "known"), [(2, True), (8, False), (16, True), (32, False), (-1, False)]
)
def test_memory_that_was_cut_off_is_not_known(gib, known):
    assert ("memory_bytes" in device_facts({"deviceMemory": gib})) is known


@given(
    data=st.dictionaries(
        st.sampled_from(["userAgent", "userAgentData", "hardwareConcurrency", "deviceMemory"]),
        st.text()
        | st.floats()
        | st.none()
        | st.lists(st.none())
        | st.dictionaries(
            st.sampled_from(["platform", "platformVersion", "model"]), st.text() | st.none()
        ),
    ),
    model=st.text(max_size=100),
)
def test_whatever_is_said_fits_the_schema(data, model):
    for facts in (device_facts(data), from_user_agent(f"(Linux; Android 9; {model}) Chrome")):
        assert set(facts) <= set(COLUMNS)
        assert table([row(**facts)]).num_rows == 1
