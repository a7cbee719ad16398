"""No drift: what the receiver decodes after any loss is what the encoder has, bit by bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.av1_encoder import Av1Encoder
from codecpilot.codecs.types import Codec, EncodedFrame, EncodeRequest, Picture, VideoEncoder
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.rtc.encoder_session import EncoderSession
from codecpilot.rtc.messages import ReceivedFrame
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch

from tests.rtc.fakes import AV1, FLEXFEC, FRAME_US, RED, WALL_OFFSET_US, Pair
from tests.rtc.test_send_path import FakeEstimator

WIDTH, HEIGHT = 96, 64


class RememberingEncoder:
    """Av1Encoder, and what it reconstructed of each frame that others may read, by capture time."""

    codec = Codec.AV1
    can_retry = True

    def __init__(self) -> None:
        self._encoder = Av1Encoder(width=WIDTH, height=HEIGHT)
        self.implementation = self._encoder.implementation
        self.pictures: dict[int, Picture] = {}

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        frame = self._encoder.encode(request)
        # libaom leaves out the post-filters of a frame that refreshes nothing: no picture to compare.
        if frame.temporal_id == 0:
            self.pictures[frame.capture_us] = self._encoder.reconstruction()
        return frame

    def close(self) -> None:
        self._encoder.close()


class ComparingDecoder:
    """Av1Decoder that fails the test where a picture is not the encoder's."""

    def __init__(self, encoder: RememberingEncoder) -> None:
        self._decoder = Av1Decoder()
        self._encoder = encoder
        self.compared = self.recovered = 0

    def decode(self, frame: ReceivedFrame) -> Picture | None:
        shown = self._decoder.decode(frame.data)
        assert shown is not None
        assert frame.capture_wall_us is not None
        own = self._encoder.pictures.get(round((frame.capture_wall_us - WALL_OFFSET_US) / 10) * 10)
        if own is not None and frame.temporal_id == 0:
            for plane in ("y", "u", "v"):
                assert np.array_equal(getattr(shown, plane), getattr(own, plane)), frame.frame_id
            self.compared += 1
            self.recovered += frame.ltr is not None and frame.ltr.is_recovery
        return shown


class RealPair(Pair):
    """A Pair with the real codec and pictures that move."""

    def __init__(self, rng: random.Random, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        self.encoder = RememberingEncoder()
        self.session = EncoderSession(open_encoder=self._open_encoder, controller=FrameController())
        self.decoder: ComparingDecoder = ComparingDecoder(self.encoder)  # type: ignore[assignment]
        noise = np.random.default_rng(rng.randrange(1 << 30))
        self._texture = noise.integers(0, 255, (HEIGHT, WIDTH), dtype=np.uint8)
        self._speed = rng.randint(0, 4)

    def _open_encoder(self, codec: Codec, width: int, height: int) -> VideoEncoder:
        assert (codec, width, height) == (Codec.AV1, WIDTH, HEIGHT)
        return self.encoder

    def _capture(self) -> None:
        # Whole tens of microseconds survive the way through NTP's fractions.
        self.now_us = self.now_us // 10 * 10
        self._captured += 1
        y = np.ascontiguousarray(
            np.roll(self._texture, self._speed * self._captured, axis=1) // 2 + 50
        )
        chroma = np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8)
        self.sender.handle_picture(Picture(y=y, u=chroma, v=chroma, capture_us=self.now_us))


class Losses:
    """Loses packets in bursts of a geometric length, by a seeded generator."""

    def __init__(self, rng: random.Random, *, ratio: float, burst: float) -> None:
        self._rng = rng
        self._begin = ratio / (1 - ratio) / burst
        self._end = 1 / burst
        self._is_losing = False

    def __call__(self, data: bytes) -> bool:
        turns = self._rng.random() < (self._end if self._is_losing else self._begin)
        self._is_losing ^= turns
        return self._is_losing


def run(seed: int, *, seconds: float = 4.0) -> RealPair:
    """A call under a pattern of losses, both ways, and with means that the seed chooses."""
    rng = random.Random(seed)
    switches = {
        name: rng.choice([Switch.ON, Switch.AUTO, Switch.AUTO])
        for name in ("temporal_layers", "fec", "ltr", "ltr_proactive")
    }
    pair = RealPair(
        rng,
        seed=seed,
        codecs=(AV1,),
        target_bps=rng.choice([60_000, 200_000, 600_000]),
        estimator=FakeEstimator(rng.choice([150_000, 800_000])),
        resilience=ResilienceSettings(**switches, nack=rng.choice([Switch.OFF, Switch.AUTO])),
        marks=rng.random() < 0.8,
        flexfec=FLEXFEC if rng.random() < 0.5 else None,
        red=RED if rng.random() < 0.5 else None,
    )
    rtt_us = rng.choice([20_000, 100_000, 300_000])
    pair.media.delay_us = pair.feedback.delay_us = rtt_us // 2
    pair.receiver.set_rtt(rtt_us)
    pair.run(0.5)
    pair.media.drop = Losses(rng, ratio=rng.choice([0.02, 0.1, 0.3]), burst=rng.choice([1, 4]))
    pair.feedback.drop = Losses(rng, ratio=rng.choice([0.01, 0.1]), burst=1)
    pair.media.jitter_us = rng.choice([0, 5_000])
    pair.run(seconds)
    # Then nothing is lost: whatever was broken heals.
    pair.media.drop = pair.feedback.drop = lambda data: False
    pair.run(2.5)
    return pair


@pytest.mark.parametrize("seed", range(12))
def test_pictures_are_the_encoder_s_after_any_pattern_of_losses(seed):
    pair = run(seed)
    assert pair.decoder.compared >= 40
    # It ends alive: pictures of the last half second are on the screen.
    assert pair.shown[-1].decoded_us > pair.now_us - 15 * FRAME_US


def test_the_patterns_do_exercise_recovery():
    pairs = [run(seed, seconds=2) for seed in range(100, 104)]
    assert sum(pair.decoder.recovered for pair in pairs) >= 4
    assert sum(pair.sender.counters.keyFramesEncoded == 1 for pair in pairs) >= 1
