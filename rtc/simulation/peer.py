"""One simulated peer: its two cores, its codecs and its device, driven by the event loop.

The encoder and the decoder run for real, at once, when their job begins; the result is handed on
after the time that the device model takes for it. Each has a thread of its own, as in a live call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...codecs.errors import RemoteError
from ...codecs.types import Codec, Picture, VideoDecoder
from ..encoder_session import EncodeJob
from ..messages import ReceivedFrame
from ..playout.playout import DecodedPicture
from ..rtp.packet import is_rtcp
from ..rtp.rtcp import salvage_rtcp
from .audio import AudioSink, AudioSource, is_sound
from .clock import PeerClock
from .device import DeviceModel
from .ends import ReceivingEnd, SendingEnd
from .event_loop import EventLoop, Wake
from .health import HEALTH_INTERVAL_US, HealthMeter
from .playout import PlayoutStage
from .recorder import Recorder

Send = Callable[[bytes], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerParts:
    """What a peer is made of. outgoing follows what it sends, incoming what it is sent.

    audio is what it sends beside pictures, if anything, sound where it hears the other peer.
    """

    clock: PeerClock
    device: DeviceModel
    health: HealthMeter
    sender: SendingEnd
    receiver: ReceivingEnd
    playout: PlayoutStage
    audio: AudioSource | None
    sound: AudioSink
    open_decoder: Callable[[Codec], VideoDecoder]
    outgoing: Recorder
    incoming: Recorder


class Peer:
    """See the module."""

    def __init__(self, parts: PeerParts, *, loop: EventLoop, send: Send) -> None:
        """send takes each datagram at the loop's time."""
        self._parts = parts
        self._loop = loop
        self._send = send
        self._sender_wake = Wake(loop, self._pump_sender)
        self._receiver_wake = Wake(loop, self._pump_receiver)
        self._playout_wake = Wake(loop, self._show)
        self._decoders: dict[Codec, VideoDecoder] = {}

    def start(self, pictures: Iterator[Picture]) -> None:
        """Begin to capture: each picture at its capture_us by the peer's clock, the first at once."""
        self._capture_next(pictures, start_us=self._local_us())
        self._tell_health()
        if self._parts.audio is not None:
            self._send_audio(0)

    def handle_datagram(self, data: bytes) -> None:
        """Take what the link delivers."""
        now_us = self._local_us()
        parts = self._parts
        if is_rtcp(data):
            for message in salvage_rtcp(data)[0]:
                parts.outgoing.feedback(message)
                parts.sender.handle_rtcp(message, now_us=now_us)
                parts.receiver.handle_rtcp(message, now_us=now_us)
            self._pump_sender()
        elif is_sound(data):
            parts.sound.received(data, now_us=self._loop.now_us, local_us=now_us)
            return
        else:
            parts.receiver.handle_rtp(data, now_us=now_us)
        self._pump_receiver()

    def close(self) -> None:
        """Free the codecs."""
        self._parts.sender.close()
        for decoder in self._decoders.values():
            decoder.close()
        self._decoders.clear()

    def _local_us(self) -> int:
        return self._parts.clock.local_us(self._loop.now_us)

    def _capture_next(self, pictures: Iterator[Picture], *, start_us: int) -> None:
        picture = next(pictures, None)
        if picture is None:
            return
        at_us = self._parts.clock.virtual_us(start_us + picture.capture_us)
        self._loop.at(
            max(at_us, self._loop.now_us), lambda: self._capture(picture, pictures, start_us)
        )

    def _capture(self, picture: Picture, pictures: Iterator[Picture], start_us: int) -> None:
        picture = replace(picture, capture_us=self._local_us())
        self._parts.outgoing.captured(picture, now_us=self._loop.now_us)
        reason = self._parts.sender.handle_picture(picture)
        if reason is not None:
            self._parts.outgoing.left_out(picture, reason=reason)
        else:
            self._parts.outgoing.taken(picture)
        self._pump_sender()
        self._capture_next(pictures, start_us=start_us)

    def _tell_health(self) -> None:
        now_us, local_us = self._loop.now_us, self._local_us()
        health = self._parts.health.health(now_us=now_us, local_us=local_us)
        self._parts.sender.handle_health(health, now_us=local_us)
        self._note_decisions()
        self._loop.at(now_us + HEALTH_INTERVAL_US, self._tell_health)

    def _send_audio(self, index: int) -> None:
        audio = self._parts.audio
        assert audio is not None
        wall_us = self._local_us() + self._parts.clock.wall_offset_us
        available_bps = self._parts.sender.estimate_bps
        packet = audio.packet(
            index, now_us=self._loop.now_us, wall_us=wall_us, available_bps=available_bps
        )
        self._send(packet)
        at_us = self._parts.clock.virtual_us(self._local_us() + audio.interval_us)
        self._loop.at(at_us, lambda: self._send_audio(index + 1))

    def _pump_sender(self) -> None:
        output = self._parts.sender.drain(now_us=self._local_us())
        self._note_decisions()
        if output.job is not None:
            self._encode(output.job)
        for data in output.rtp:
            self._send(data)
        for data in output.rtcp:
            self._send(data)
        self._set(self._sender_wake, output.wake_us)

    def _pump_receiver(self) -> None:
        parts = self._parts
        parts.receiver.exchange(parts.sender, now_us=self._local_us())
        output = parts.receiver.drain(now_us=self._local_us())
        if output.frame is not None:
            self._decode(output.frame)
        if output.probe is not None:
            self._probe(output.probe)
        for data in output.rtcp:
            parts.incoming.asked(data, now_us=self._loop.now_us)
            self._send(data)
        self._set(self._receiver_wake, output.wake_us)

    def _set(self, wake: Wake, local_us: int | None) -> None:
        wake.set(None if local_us is None else self._parts.clock.virtual_us(local_us))

    def _encode(self, job: EncodeJob) -> None:
        expired = self._parts.sender.counters.framesExpired
        self._parts.outgoing.encoding(job, expired=expired, now_us=self._loop.now_us)
        result = self._parts.sender.encode(job)
        self._parts.health.works(self._loop.now_us, result.encode_us)

        def done() -> None:
            self._parts.sender.handle_encoded(result, now_us=self._local_us())
            self._note_decisions()
            self._parts.outgoing.encoded(job, result, now_us=self._loop.now_us)
            self._pump_sender()

        self._loop.at(self._loop.now_us + result.encode_us, done)

    def _note_decisions(self) -> None:
        decisions = self._parts.sender.poll_decisions()
        self._parts.outgoing.decisions.decided(decisions, now_us=self._loop.now_us)
        adaptations = self._parts.sender.poll_adaptations()
        self._parts.outgoing.adaptations.decided(adaptations, now_us=self._loop.now_us)

    def _decode(self, frame: ReceivedFrame) -> None:
        self._parts.incoming.received(frame, now_us=self._loop.now_us)
        picture, failed = self._decoded(frame)
        decode_us = self._decode_us(frame, picture)
        self._loop.at(
            self._loop.now_us + decode_us,
            lambda: self._decode_done(frame, picture, failed=failed, decode_us=decode_us),
        )

    def _probe(self, frame: ReceivedFrame) -> None:
        """Decode a key frame in a thread of its own, for the time it takes."""
        decoder = self._parts.open_decoder(frame.codec)
        decode_us = self._decode_us(frame, decoder.decode(frame.data))
        decoder.close()

        def done() -> None:
            self._parts.receiver.handle_probed(decode_us, now_us=self._local_us())
            self._pump_receiver()

        self._loop.at(self._loop.now_us + decode_us, done)

    def _decode_us(self, frame: ReceivedFrame, picture: Picture | None) -> int:
        """What the device takes for a frame that shows this picture, from now on."""
        pixels = 0 if picture is None else picture.width * picture.height
        preset = self._parts.incoming.preset_of(frame)
        decode_us = self._parts.device.decode_us(
            frame.codec, preset, pixels=pixels, now_us=self._loop.now_us
        )
        self._parts.health.works(self._loop.now_us, decode_us)
        return decode_us

    def _decoded(self, frame: ReceivedFrame) -> tuple[Picture | None, bool]:
        decoder = self._decoders.get(frame.codec)
        if decoder is None:
            decoder = self._decoders[frame.codec] = self._parts.open_decoder(frame.codec)
        try:
            return decoder.decode(frame.data), False
        except RemoteError:
            return None, True

    def _decode_done(
        self, frame: ReceivedFrame, picture: Picture | None, *, failed: bool, decode_us: int
    ) -> None:
        parts, now_us = self._parts, self._local_us()
        parts.incoming.decoded(frame, failed=failed, now_us=self._loop.now_us)
        parts.receiver.handle_decoded(picture, failed=failed, decode_us=decode_us, now_us=now_us)
        if picture is not None:
            decoded = DecodedPicture(
                picture=picture,
                frame=frame,
                decoded_us=now_us,
                capture_wall_us=frame.capture_wall_us,
            )
            parts.playout.insert(decoded, now_us=now_us)
            self._show()
        self._pump_receiver()

    def _show(self) -> None:
        playout, now_us = self._parts.playout, self._local_us()
        while (decoded := playout.poll(now_us=now_us)) is not None:
            self._parts.incoming.shown(
                decoded.frame,
                decoded.picture,
                sound_latency_us=self._parts.sound.heard_us(self._loop.now_us),
                now_us=self._loop.now_us,
            )
        self._set(self._playout_wake, playout.poll_timeout())
