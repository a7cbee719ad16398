"""The packet status chunks of transport-wide feedback.

Sections are those of draft-holmer-rmcat-transport-wide-cc-extensions-01.
"""

from __future__ import annotations

import struct

from codecpilot.codecs.errors import RemoteError

# Section 3.1.1; symbol 3 is reserved, and libwebrtc's TransportFeedback::Parse refuses it too.
NOT_RECEIVED, SMALL_DELTA, LARGE_DELTA = 0, 1, 2
_RESERVED = 3

CHUNK_BYTES = 2
MAX_RUN = (1 << 13) - 1  # section 3.1.3
ONE_BIT_SYMBOLS, TWO_BIT_SYMBOLS = 14, 7  # section 3.1.4

_VECTOR, _TWO_BIT = 1 << 15, 1 << 14
_CHUNK = struct.Struct("!H")


def read_chunks(body: bytes, offset: int, *, count: int) -> tuple[list[tuple[int, int]], int]:
    """(symbol, how often in a row) for count packets, and the offset behind the chunks.

    What the last chunk says of packets beyond count is ignored. Raises RemoteError when the body
    ends before, or for the reserved symbol.
    """
    runs: list[tuple[int, int]] = []
    left = count
    while left > 0:
        if offset + CHUNK_BYTES > len(body):
            raise RemoteError(f"the status chunks end {left} packets before the status count")
        (chunk,) = _CHUNK.unpack_from(body, offset)
        offset += CHUNK_BYTES
        if not chunk & _VECTOR:
            runs.append((chunk >> 13, min(chunk & MAX_RUN, left)))
            left -= chunk & MAX_RUN
        elif chunk & _TWO_BIT:
            shifts = range(12, -1, -2)[:left]
            runs += [(chunk >> shift & 3, 1) for shift in shifts]
            left -= TWO_BIT_SYMBOLS
        else:
            shifts = range(13, -1, -1)[:left]
            runs += [(chunk >> shift & 1, 1) for shift in shifts]
            left -= ONE_BIT_SYMBOLS
    if any(symbol == _RESERVED for symbol, _ in runs):
        raise RemoteError(f"packet status symbol {_RESERVED} is reserved")
    return runs, offset


def write_chunks(symbols: bytes) -> bytes:
    """The chunks for these symbols, a byte each, as few as can be."""
    ends = _chunk_ends(symbols)
    chunks = bytearray()
    start = 0
    while start < len(symbols):
        end = ends[start]
        chunks += _CHUNK.pack(_chunk(symbols[start:end]))
        start = end
    return bytes(chunks)


def _chunk_ends(symbols: bytes) -> list[int]:
    """Where the chunk that starts at each symbol ends in a shortest list of chunks."""
    count = len(symbols)
    fewest = [0] * (count + 1)  # chunks from here to the end
    ends = [0] * count
    run_end = count
    start = count - 1
    while start >= 0:
        goes_on = start + 1 < count and symbols[start + 1] == symbols[start]
        # A run may stop short of its end, where what follows then falls better into vectors.
        if not goes_on or fewest[start + 1] < fewest[run_end]:
            run_end = start + 1
        end = min(run_end, start + MAX_RUN)
        one_bit_end = min(start + ONE_BIT_SYMBOLS, count)
        if LARGE_DELTA not in symbols[start:one_bit_end] and fewest[one_bit_end] < fewest[end]:
            end = one_bit_end
        two_bit_end = min(start + TWO_BIT_SYMBOLS, count)
        if fewest[two_bit_end] < fewest[end]:
            end = two_bit_end
        first = start
        if end == run_end >= start + ONE_BIT_SYMBOLS:
            # No vector reaches beyond the run from anywhere before: all of it is the same chunk.
            run_start = len(symbols[:start].rstrip(symbols[start : start + 1]))
            first = max(run_start, run_end - MAX_RUN)
        ends[first : start + 1] = [end] * (start + 1 - first)
        fewest[first : start + 1] = [fewest[end] + 1] * (start + 1 - first)
        start = first - 1
    return ends


def _chunk(symbols: bytes) -> int:
    first, count = symbols[0], len(symbols)
    if symbols.count(first) == count:
        return first << 13 | count
    two_bit = count <= TWO_BIT_SYMBOLS
    bits, capacity = (2, TWO_BIT_SYMBOLS) if two_bit else (1, ONE_BIT_SYMBOLS)
    packed = 0
    for symbol in symbols:
        packed = packed << bits | symbol
    # The last chunk may have room for more: section 3.1.4 has its rest zero.
    return _VECTOR | two_bit << 14 | packed << bits * (capacity - count)
