"""Runs a ReceiverCore in real time: decodes in a worker thread and feeds the track."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fractions import Fraction

from aiortc.rtcrtpreceiver import RemoteStreamTrack

from ...codecs.errors import CodecpilotError
from ...codecs.factory import open_decoder
from ...codecs.pictures import frame_from_picture
from ...codecs.types import Codec, Picture, VideoDecoder
from ..drain import drain_receiver
from ..ltr_exchange import LtrExchange
from ..messages import VIDEO_CLOCK_HZ, ReceivedFrame
from ..playout.av_sync import AvSync
from ..playout.picture_memory import most_held
from ..playout.playout import DecodedPicture, Playout
from ..receiver import ReceiverCore
from ..sender import SenderCore
from .clock import now_us
from .decode_prober import DecodeProber
from .pump import EventSink, Pump, outlived
from .remb import RembSource

logger = logging.getLogger("codecpilot.rtc")

VIDEO_TIME_BASE = Fraction(1, VIDEO_CLOCK_HZ)
# ours: an application that reads its track late gets the newest second of pictures, not a growing delay.
MAX_TRACK_FRAMES = 30
# ours: how long an application may hold a frame before asking when it was captured.
MAX_CAPTURE_TIMES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decoded:
    picture: Picture | None
    failed: bool
    decode_us: int


class ReceiverDriver(Pump):
    """Feeds packets in, decodes what comes out, and answers the sender."""

    def __init__(
        self,
        *,
        core: ReceiverCore,
        track: RemoteStreamTrack | None,
        send: Callable[[bytes], Awaitable[None]],
        emit: EventSink,
        sender_core: Callable[[], SenderCore | None],
        av_sync: AvSync,
        remb: RembSource | None = None,
    ) -> None:
        """sender_core is that of the same transceiver, None while it has none.

        remb is for a sender that knows no better than what its receiver estimates.
        """
        self.core = core
        self.heard_us: int | None = None
        self._track = track
        self._send = send
        self._emit = outlived(emit)
        self._sender_core = sender_core
        self._ltr_exchange = LtrExchange()
        self._remb = remb
        self._remb_packet: bytes | None = None
        self._decoders: dict[Codec, VideoDecoder] = {}
        self._decoding: Codec | None = None
        self._prober = DecodeProber(self._probed)
        self._playout = Playout(av_sync=av_sync)
        self._first_timestamp: int | None = None
        self._capture_times: OrderedDict[int, int] = OrderedDict()
        super().__init__(name="video-decoder")

    @property
    def implementation(self) -> str:
        """W3C decoderImplementation of the decoder in use."""
        decoder = self._decoders.get(self._decoding) if self._decoding else None
        return decoder.implementation if decoder else ""

    def handle_rtp(self, data: bytes, *, arrival_us: int) -> None:
        """Take one RTP packet."""
        self.heard_us = arrival_us
        packet = self.core.handle_rtp(data, now_us=arrival_us)
        media_ssrc = self.core.remote_ssrc
        if self._remb is not None and packet is not None and media_ssrc is not None:
            estimate = self._remb.packet(packet, media_ssrc=media_ssrc, arrival_us=arrival_us)
            # An estimate that waits for the pump outlives packets that call for none.
            self._remb_packet = estimate or self._remb_packet
        self.wake()

    async def drain(self) -> int | None:
        """Start a due frame's decoding and send what is ready."""
        self._hear_sender()
        output = drain_receiver(self.core, now_us=now_us())
        if output.frame is not None:
            frame = output.frame
            future = self._loop.run_in_executor(self._worker, self._decode, frame)
            future.add_done_callback(lambda done: self._decode_done(frame, done))
            self._emit("framereceived", frame)
        if output.probe is not None:
            self._prober.start(output.probe)
        self._show_due()
        for data in output.rtcp:
            await self._send(data)
        if self._remb_packet is not None:
            data, self._remb_packet = self._remb_packet, None
            await self._send(data)
        return min((t for t in (output.wake_us, self._playout.poll_timeout()) if t), default=None)

    def close_codec(self) -> None:
        """Free the decoders."""
        for decoder in self._decoders.values():
            decoder.close()
        self._decoders.clear()

    def end_track(self) -> None:
        """Tell the track's reader that no frame follows."""
        if self._track is not None:
            self._track._queue.put_nowait(None)

    async def stop(self) -> None:
        """End decoding; the track ends."""
        await super().stop()
        self._prober.stop()
        self.end_track()

    def capture_wall_us(self, pts: int | None) -> int | None:
        """The sender's clock (since 1900) at the capture of a frame that the track gave."""
        if pts is None or self._first_timestamp is None:
            return None
        return self._wall_us(self._capture_times.get(pts), pts + self._first_timestamp)

    def _hear_sender(self) -> None:
        """Take what our own stream the other way knows, and tell it what it has to."""
        sender = self._sender_core()
        if sender is None:
            return
        if sender.rtt_us is not None:
            self.core.set_rtt(sender.rtt_us)
        self._ltr_exchange.exchange(sender=sender, receiver=self.core, now_us=now_us())

    def _wall_us(self, told_us: int | None, rtp_timestamp: int) -> int | None:
        return told_us if told_us is not None else self.core.capture_wall_us(rtp_timestamp)

    def _decode(self, frame: ReceivedFrame) -> _Decoded:
        started_ns = time.perf_counter_ns()
        picture, failed = None, False
        try:
            decoder = self._decoders.get(frame.codec)
            if decoder is None:
                decoder = self._decoders[frame.codec] = open_decoder(frame.codec)
                started_ns = time.perf_counter_ns()
            self._decoding = frame.codec
            picture = decoder.decode(frame.data)
        except CodecpilotError as error:
            logger.info("a frame could not be decoded: %s", error)
            failed = True
        decode_us = (time.perf_counter_ns() - started_ns) // 1000
        return _Decoded(picture=picture, failed=failed, decode_us=decode_us)

    def _probed(self, decode_us: int | None) -> None:
        self.core.handle_probed(decode_us, now_us=now_us())
        self.wake()

    def _decode_done(self, frame: ReceivedFrame, done: asyncio.Future[_Decoded]) -> None:
        if done.cancelled():
            return
        if done.exception() is not None:
            logger.error("a decoder failed", exc_info=done.exception())
            result = _Decoded(picture=None, failed=True, decode_us=0)
        else:
            result = done.result()
        time_us = now_us()
        decoded = self.core.handle_decoded(
            result.picture, failed=result.failed, decode_us=result.decode_us, now_us=time_us
        )
        if decoded is not None and result.picture is not None:
            picture = DecodedPicture(
                picture=result.picture,
                frame=frame,
                decoded_us=time_us,
                capture_wall_us=self._wall_us(frame.capture_wall_us, frame.rtp_timestamp),
            )
            self._playout.insert(picture, now_us=time_us)
            self._show_due()
            self._emit("framedecoded", decoded)
        self.wake()

    def _show_due(self) -> None:
        time_us = now_us()
        skipped = self._playout.skipped
        due = self._playout.poll(now_us=time_us)
        if due is not None:
            self.core.handle_shown(now_us=time_us, skipped=self._playout.skipped - skipped)
            self._show(due.frame, due.picture)

    def _show(self, frame: ReceivedFrame, picture: Picture) -> None:
        if self._first_timestamp is None:
            self._first_timestamp = frame.rtp_timestamp
        pts = frame.rtp_timestamp - self._first_timestamp
        if frame.capture_wall_us is not None:
            self._capture_times[pts] = frame.capture_wall_us
            while len(self._capture_times) > MAX_CAPTURE_TIMES:
                self._capture_times.popitem(last=False)
        if self._track is None:
            return
        queue = self._track._queue
        queue.put_nowait(frame_from_picture(picture, pts=pts, time_base=VIDEO_TIME_BASE))
        while queue.qsize() > most_held(picture, at_most=MAX_TRACK_FRAMES):
            queue.get_nowait()
            self.core.counters.framesDropped += 1
