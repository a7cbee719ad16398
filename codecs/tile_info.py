"""Reads AV1's tile_info (AV1 specification, 5.9.15), which stands before the quantizer."""

from __future__ import annotations

from .bits import BitReader

_MAX_TILE_WIDTH_PX = 4096
_MAX_TILE_AREA_PX = 4096 * 2304
_MAX_TILE_COLUMNS = _MAX_TILE_ROWS = 64
"""MAX_TILE_WIDTH, MAX_TILE_AREA, MAX_TILE_COLS, MAX_TILE_ROWS (section 3)."""


def read_tile_counts_log2(
    bits: BitReader, *, width: int, height: int, superblock_128: bool
) -> tuple[int, int]:
    """Read tile_info of a frame of width x height px: TileColsLog2 and TileRowsLog2."""
    shift = 7 if superblock_128 else 6
    columns, rows = _superblocks(width, shift), _superblocks(height, shift)
    widest = _MAX_TILE_WIDTH_PX >> shift
    min_columns = _log2(widest, columns)
    min_tiles = max(min_columns, _log2(_MAX_TILE_AREA_PX >> (2 * shift), rows * columns))
    if bits.flag():  # uniform_tile_spacing_flag
        max_columns = _log2(1, min(columns, _MAX_TILE_COLUMNS))
        columns_log2 = _increments(bits, first=min_columns, last=max_columns)
        max_rows = _log2(1, min(rows, _MAX_TILE_ROWS))
        first = max(min_tiles - columns_log2, 0)
        rows_log2 = _increments(bits, first=first, last=max_rows)
    else:
        widths = _explicit(bits, total=columns, limit=widest)
        area = rows * columns >> (min_tiles + 1) if min_tiles else rows * columns
        heights = _explicit(bits, total=rows, limit=max(area // max(widths), 1))
        columns_log2, rows_log2 = _log2(1, len(widths)), _log2(1, len(heights))
    if columns_log2 or rows_log2:
        bits.read(columns_log2 + rows_log2)  # context_update_tile_id
        bits.read(2)  # tile_size_bytes_minus_1
    return columns_log2, rows_log2


def _superblocks(side_px: int, shift: int) -> int:
    """Superblocks along a side, which is first rounded up to 8 px (compute_image_size, 5.9.9)."""
    return ((side_px + 7 & ~7) + (1 << shift) - 1) >> shift


def _log2(block: int, target: int) -> int:
    """tile_log2 (5.9.16): the least k with block << k >= target."""
    k = 0
    while block << k < target:
        k += 1
    return k


def _increments(bits: BitReader, *, first: int, last: int) -> int:
    while first < last and bits.flag():
        first += 1
    return first


def _explicit(bits: BitReader, *, total: int, limit: int) -> list[int]:
    sizes: list[int] = []
    while (left := total - sum(sizes)) > 0:
        sizes.append(bits.non_symmetric(min(left, limit)) + 1)
    return sizes
