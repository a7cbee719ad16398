"""The figures of a finished run, as summary.json has them; the README says what they count.

Directions count what is their own, links everything that they carry. kbps is of encoded frames;
utilisation of everything on the wire, reports and retransmissions included, against what the link
could have carried. psnr_y_shown is the mean over the captured pictures of the screen's likeness when
each was due (see screen).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...ratecontrol.messages import DropReason
from ..percentile import percentile
from ..rtp.rtcp import Nack, PictureLossIndication, ReferencePictureSelection
from .call import Direction
from .device_figures import device_figures
from .records import FrameRecord, PacketKind
from .run import Run
from .shares import link_figures, queue_loss_ratio, utilisation, utilisation_of_need

Figures = dict[str, Any]


def direction_figures(direction: Direction, *, duration_us: int) -> Figures:
    """One direction's figures; vmaf_shown is None, for whoever scores the pairs to fill in."""
    recorder = direction.recorder
    frames, screen, packets = recorder.frames, recorder.screen, recorder.packets
    sent = [frame for frame in frames if frame.bytes is not None]
    standing_us = screen.freezes.standing_us(duration_us)
    scores = screen.scores_db.values()
    return {
        "freeze_count": screen.freezes.count + (standing_us > 0),
        "freeze_s": round((screen.freezes.total_us + standing_us) / 1e6, 3),
        "recovery_ms": _spread_ms(recorder.recoveries_us, 50, 95, 100),
        "e2e_ms": _spread_ms(screen.latencies_us, 50, 95),
        "av_offset_ms": _spread_ms(recorder.av_offsets_us, 50, 95),
        "queue_delay_ms": _spread_ms(
            (p.queue_us for p in packets if p.queue_us is not None), 50, 95
        ),
        "queue_loss_ratio": queue_loss_ratio(packets),
        "utilisation": utilisation(direction, duration_us=duration_us),
        "utilisation_of_need": utilisation_of_need(direction, duration_us=duration_us),
        "kbps": round(
            sum(frame.bytes or 0 for frame in sent) * 8e3 / (duration_us - direction.start_us), 1
        ),
        "frames": _frame_counts(frames, sent),
        "key_frames": sum(frame.key for frame in sent),
        "ltr_frames": sum(frame.ltr for frame in sent),
        "ltrp_frames": sum(frame.ltrp for frame in sent),
        "nacks": recorder.requests[Nack],
        "rpsis": recorder.requests[ReferencePictureSelection],
        "plis": recorder.requests[PictureLossIndication],
        "retransmitted_bytes": recorder.payload_bytes[PacketKind.RTX],
        "padding_bytes": recorder.payload_bytes[PacketKind.PADDING],
        "fec_bytes": recorder.payload_bytes[PacketKind.FEC],
        "fec_recovered": recorder.fec_recovered,
        "psnr_y_shown": round(sum(scores) / len(scores), 3) if scores else None,
        "vmaf_shown": None,
        **device_figures(direction, duration_us=duration_us),
    }


def run_figures(run: Run, *, wall_s: float) -> Figures:
    """The whole summary: every direction, both links, and how long it took."""
    duration_us = run.scenario.duration_us
    directions = {
        name: direction_figures(direction, duration_us=duration_us)
        for name, direction in run.directions.items()
    }
    return {
        "directions": directions,
        "links": {name: link_figures(run, name) for name in run.cross},
        "virtual_s": duration_us / 1e6,
        "wall_s": round(wall_s, 3),
    }


def _frame_counts(frames: list[FrameRecord], sent: list[FrameRecord]) -> dict[str, int]:
    return {
        "captured": len(frames),
        "left_out": sum(frame.skipped == DropReason.FRAME_RATE for frame in frames),
        "sent": len(sent),
        "received": sum(frame.received_us is not None for frame in frames),
        "shown": sum(frame.shown_us is not None for frame in frames),
    }


def _spread_ms(values_us: Iterable[int], *percents: int) -> dict[str, float | None]:
    values = list(values_us)
    names = {100: "max"}
    return {
        names.get(percent, f"p{percent}"): None if us is None else round(us / 1000, 1)
        for percent in percents
        for us in (percentile(values, percent),)
    }
