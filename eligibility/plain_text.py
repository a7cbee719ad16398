"""Names of products as the schema takes them, whoever told them."""

from __future__ import annotations

import re

from .schema import MAX_TEXT_CHARACTERS

# All but the signs of schema.PLAIN_TEXT.
_NOT_PLAIN = re.compile(r"[^\w .,+\-()/&]")


def plain_text(text: str) -> str | None:
    """The text without other signs, cut to its longest; None where nothing is left."""
    return " ".join(_NOT_PLAIN.sub(" ", text).split())[:MAX_TEXT_CHARACTERS].strip() or None
