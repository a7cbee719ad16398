"""Payload types and header extension ids of later offers.

What one round of offer and answer bound to a codec or an extension stays bound for the whole session (RFC 3264
8.3.2, RFC 8843 9.1.1 and 9.2): media under way use it, and Chromium refuses an offer that says otherwise. aiortc
offers its own numbers again, whatever an earlier offer of the peer's said.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from aiortc.codecs import is_rtx
from aiortc.rtcrtpparameters import RTCRtpCodecParameters, RTCRtpHeaderExtensionParameters

from .capabilities import DYNAMIC_PAYLOAD_TYPES, find_common_codecs

# RFC 8285 4.2 and 4.3: 1..14 fit the one-byte form; 15 is reserved there.
EXTENSION_IDS = (*range(1, 15), *range(16, 256))

CodecTables = Mapping[str, Sequence[RTCRtpCodecParameters]]
ExtensionTables = Mapping[str, Sequence[RTCRtpHeaderExtensionParameters]]


def follow_payload_types(
    tables: CodecTables, remote: Iterable[RTCRtpCodecParameters]
) -> dict[str, list[RTCRtpCodecParameters]]:
    """Our codecs by media kind with the remote's numbers; what it lacks moves away from them.

    What finds no number that is free is left out.
    """
    remote = list(remote)
    taken = {c.payloadType for c in remote}
    own = {c.payloadType for table in tables.values() for c in table}
    spare = iter(sorted(DYNAMIC_PAYLOAD_TYPES - taken - own, reverse=True))
    return {
        kind: _renumbered(table, find_common_codecs(list(table), remote), taken, spare)
        for kind, table in tables.items()
    }


def follow_extension_ids(
    tables: ExtensionTables, remote: Iterable[RTCRtpHeaderExtensionParameters]
) -> dict[str, list[RTCRtpHeaderExtensionParameters]]:
    """Our header extensions by media kind with the remote's ids; what it lacks moves away from them.

    What finds no id that is free is left out.
    """
    ids: dict[str, int | None] = {e.uri: e.id for e in remote if 1 <= e.id <= 255}
    taken = set(ids.values())
    ours = [e for table in tables.values() for e in table]
    spare = (i for i in EXTENSION_IDS if i not in taken and i not in {e.id for e in ours})
    for extension in ours:
        if extension.uri not in ids:
            ids[extension.uri] = next(spare, None) if extension.id in taken else extension.id
    return {
        kind: [replace(e, id=i) for e in table if (i := ids[e.uri]) is not None]
        for kind, table in tables.items()
    }


def _renumbered(
    table: Sequence[RTCRtpCodecParameters],
    common: Sequence[RTCRtpCodecParameters],
    taken: set[int | None],
    spare: Iterator[int],
) -> list[RTCRtpCodecParameters]:
    numbers: dict[object, int | None] = {}
    renumbered = copy.deepcopy(list(table))
    # Media first: what a retransmission repairs decides which one it is.
    for codec in sorted(renumbered, key=is_rtx):
        old = codec.payloadType
        if is_rtx(codec):
            codec.parameters["apt"] = numbers[codec.parameters["apt"]]
        agreed = next((c for c in common if _same(c, codec)), None)
        if agreed is not None:
            codec.payloadType = agreed.payloadType
        elif old in taken:
            codec.payloadType = next(spare, None)
        numbers[old] = codec.payloadType
    return [c for c in renumbered if None not in (c.payloadType, c.parameters.get("apt", 0))]


def _same(a: RTCRtpCodecParameters, b: RTCRtpCodecParameters) -> bool:
    return (
        a.mimeType.lower() == b.mimeType.lower()
        and a.clockRate == b.clockRate
        and a.parameters == b.parameters
    )
