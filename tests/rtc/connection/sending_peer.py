"""A peer in a process of its own, which sends pictures drawn beforehand, and sound, and tells its decisions.

Takes an offer as a line of JSON on its input, and answers on its output; then one line for each decision:
{"at_us": wall clock, "codec", "preset", "coded": [width, height], "every", "reason"}.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from fractions import Fraction
from typing import Any

from aiortc import MediaStreamTrack, RTCSessionDescription
from av import AudioFrame, VideoFrame

from codecpilot.codecs.pictures import frame_from_picture
from codecpilot.rtc.adaptation.decisions import AdaptationDecision
from codecpilot.samples.scene import Scene

from tests.live_call import AUDIO_HZ, AUDIO_SAMPLES, CLOCK_HZ, ToneTrack, call

FPS, SECONDS = 30, 4


class DrawnBefore(MediaStreamTrack):
    """The scene's first seconds, to and fro: reading it costs next to nothing."""

    kind = "video"

    def __init__(self, *, width: int, height: int) -> None:
        super().__init__()
        scene = Scene(width=width, height=height, fps=FPS)
        there = [scene.picture(index) for index in range(FPS * SECONDS)]
        self._pictures = there + there[-2:0:-1]
        self._index = -1
        self._started_s: float | None = None

    async def recv(self) -> VideoFrame:
        now_s = time.monotonic()
        self._started_s = self._started_s or now_s
        self._index = max(self._index + 1, int((now_s - self._started_s) * FPS))
        await asyncio.sleep(max(0.0, self._started_s + self._index / FPS - now_s))
        return frame_from_picture(
            self._pictures[self._index % len(self._pictures)],
            pts=self._index * CLOCK_HZ // FPS,
            time_base=Fraction(1, CLOCK_HZ),
        )


class Microphone(ToneTrack):
    """Sound that nobody fetched in time is gone, as with a device."""

    async def recv(self) -> AudioFrame:
        if self._started_s is not None:
            heard_s = time.monotonic() - self._started_s
            self._index = max(self._index, int(heard_s * AUDIO_HZ / AUDIO_SAMPLES))
        return await super().recv()


def _tell(values: dict[str, Any]) -> None:
    print(json.dumps(values), flush=True)


def _tell_decision(decision: AdaptationDecision) -> None:
    operation = decision.operation
    _tell(
        {
            "at_us": time.time_ns() // 1000,
            "codec": operation.codec,
            "preset": operation.preset,
            "coded": decision.size,
            "every": operation.every,
            "reason": decision.reason,
            "value": decision.value,
        }
    )


async def main(*, width: int, height: int, target_bps: int) -> None:
    """Send until the input ends."""
    pictures = DrawnBefore(width=width, height=height)
    _tell({"ready": True})
    loop = asyncio.get_running_loop()
    offer = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    pc = call(adaptation=True, target_bps=target_bps)
    pc.on("adaptation", _tell_decision)
    await pc.setRemoteDescription(RTCSessionDescription(**offer))
    pc.addTrack(Microphone())
    pc.addTrack(pictures)
    await pc.setLocalDescription(await pc.createAnswer())
    _tell({"sdp": pc.localDescription.sdp, "type": pc.localDescription.type})
    await loop.run_in_executor(None, sys.stdin.read)
    await pc.close()


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
