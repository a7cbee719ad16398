"""What a browser's page says of a decoder that is too slow."""

from __future__ import annotations

import json


def slow_page(**members: str) -> str:
    """A report in which twelve frames of thirty were decoded, with further members such as mid."""
    return json.dumps(
        {
            "codec": "AV1",
            "interval": 1.0,
            "framesReceived": 30,
            "framesDecoded": 12,
            "framesDropped": 6,
            "totalDecodeTime": 0.996,
            "frameWidth": 160,
            "frameHeight": 96,
        }
        | members
    )
