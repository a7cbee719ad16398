"""What a peer is made of, as the options of its call say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiortc import RTCConfiguration

from ...codecs.types import Codec
from ...rtc.connection import CallPeerConnection, CallSettings
from .figures import ShownLog
from .options import DEFAULT_AUDIO_BPS, CallOptions
from .recording import RecordingThread

if TYPE_CHECKING:
    from .eligibility import CallStart
    from .telemetry import CallTelemetry


def call_start(options: CallOptions) -> CallStart | None:
    """This side's score and what follows of it, where a model was given. Raises LocalError for another file."""
    if options.device.eligibility is None:
        return None
    from .eligibility import load_model, score_this_side

    return score_this_side(load_model(options.device.eligibility))


def call_connection(
    options: CallOptions, *, side: str, start: CallStart | None
) -> CallPeerConnection:
    """A connection with what the call's options say of this side."""
    other = Codec.H264 if options.codec is Codec.AV1 else Codec.AV1
    settings = CallSettings(
        target_bps=options.bitrate_bps,
        preset=options.preset,
        codecs=(options.codec, other),
        congestion_control=options.cc,
        audio_bps=options.audio_bps or DEFAULT_AUDIO_BPS,
        resilience=options.resilience,
        start_policy=None if start is None else start.policy,
        **options.device.settings(side),
    )
    # Without servers: both peers are on this machine, and nothing outside it is asked.
    return CallPeerConnection(RTCConfiguration(iceServers=[]), settings=settings)


def call_recording(options: CallOptions, *, side: str) -> RecordingThread | None:
    """What keeps what this side receives, where that was asked for."""
    if options.record_dir is None:
        return None
    return RecordingThread(options.record_dir, name=f"{options.record_name}-{side}")


def call_telemetry(
    options: CallOptions, *, side: str, pc: CallPeerConnection, shown: ShownLog
) -> CallTelemetry | None:
    """What keeps this side's telemetry, where that was asked for."""
    if options.telemetry_dir is None:
        return None
    # Its libraries take a second to load.
    from .telemetry import CallTelemetry

    return CallTelemetry(
        options.telemetry_dir, call_id=options.call_id, side=side, pc=pc, shown=shown
    )
