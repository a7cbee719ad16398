"""Names as the schema takes them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.eligibility.plain_text import plain_text
from codecpilot.eligibility.schema import MAX_TEXT_CHARACTERS, PLAIN_TEXT


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SM-G991B", "SM-G991B"),
        (" Intel(R)  Core:i7 ", "Intel(R) Core i7"),
        ("a\x1b[31m", "a 31m"),
        ("<>", None),
        ("", None),
    ],
)
def test_signs_that_no_name_has_become_one_space(text, name):
    assert plain_text(text) == name


@given(st.text(max_size=200))
def test_whatever_is_told_the_schema_takes_what_is_left(text):
    name = plain_text(text)
    if name is not None:
        assert 0 < len(name) <= MAX_TEXT_CHARACTERS
        assert re.fullmatch(PLAIN_TEXT, name)
        assert plain_text(name) == name
