"""Measures how many pictures a second look best at a rate whose packets pay for their headers.

    python -m tests.bench.frame_rates CLIP... [--size 640x360] [--rates 20,30,50] [--every 1,2,3,4]
        [--codec AV1|H264] [--key-every SECONDS]

Rates are those of the wire in kbit/s; what headers take (ratecontrol/frame_rate.py) is not the
encoder's. Every 1 encodes all of 30 pictures a second, 2 every second one, and so on. VMAF (every
seventh picture) and PSNR compare the screen with the clip at all 30, so what is left out costs as
repeats do. The first second is not scored. CLIP is a path, or scene for the project's own scene.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from codecpilot.codecs.factory import open_decoder, open_encoder
from codecpilot.codecs.media import open_video
from codecpilot.codecs.metrics import psnr_y
from codecpilot.codecs.pictures import new_picture, scale_picture
from codecpilot.codecs.slot_book import SlotBook
from codecpilot.codecs.types import Codec, EncodedFrame, Picture
from codecpilot.codecs.vmaf import vmaf
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.frame_rate import HEADER_BITS
from codecpilot.rtc.encode_loop import encode_picture
from codecpilot.rtc.packetizer import MAX_PACKET_BYTES
from codecpilot.samples.scene import Scene

FPS = 30
VMAF_EVERY = 7
LTR_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run; wire_kbps counts headers, delays are the bucket's."""

    wire_kbps: float
    vmaf: float
    psnr_y: float
    skipped: int
    delay_p95_ms: int
    delay_max_ms: int


def encoder_bps(wire_bps: int, *, fps: float) -> int:
    """What is left of a rate for the encoder: a frame's last packet is as often short as long."""
    target_bps = wire_bps - HEADER_BITS * fps
    for _ in range(20):
        packets = max(1.0, target_bps / fps / 8 / MAX_PACKET_BYTES + 0.5)
        target_bps = wire_bps - HEADER_BITS * fps * packets
    return int(target_bps)


def measure(
    pictures: Sequence[Picture], *, codec: Codec, wire_bps: int, every: int, key_us: int
) -> Row | None:
    """One run; None where headers leave nothing."""
    target_bps = encoder_bps(wire_bps, fps=FPS / every)
    if target_bps < 4_000:
        return None
    size = {"width": pictures[0].width, "height": pictures[0].height}
    controller, book = FrameController(target_bps=target_bps), SlotBook()
    on_screen, shown, delays_us, bits, skipped = new_picture(**size), [], [], 0, 0
    last_key_us = last_ltr_us = -key_us
    with closing(open_encoder(codec, **size)) as encoder, closing(open_decoder(codec)) as decoder:
        for index, picture in enumerate(pictures):
            now_us = picture.capture_us
            if index % every == 0:
                key = now_us - last_key_us >= key_us
                ltr = not key and now_us - last_ltr_us >= LTR_US
                result = encode_picture(
                    picture,
                    encoder=encoder,
                    controller=controller,
                    book=book,
                    frame_id=index,
                    now_us=now_us,
                    key=key,
                    ltr=ltr,
                )
                skipped += not isinstance(result, EncodedFrame)
                if isinstance(result, EncodedFrame):
                    last_key_us = now_us if result.key else last_key_us
                    last_ltr_us = now_us if result.key or ltr else last_ltr_us
                    packets = -(-len(result.data) // MAX_PACKET_BYTES)
                    bits += 8 * len(result.data) + HEADER_BITS * packets
                    decoded = decoder.decode(result.data)
                    on_screen = on_screen if decoded is None else scale_picture(decoded, **size)
                delays_us.append(controller.vbv_delay_us(now_us))
            shown.append(on_screen)
    delays_us.sort()
    scored = list(zip(pictures, shown, strict=True))[FPS:]
    score = vmaf((a for a, _ in scored), (b for _, b in scored), fps=FPS, subsample=VMAF_EVERY)
    return Row(
        wire_kbps=bits * FPS / len(pictures) / 1000,
        vmaf=score.mean,
        psnr_y=sum(itertools.starmap(psnr_y, scored)) / len(scored),
        skipped=skipped,
        delay_p95_ms=delays_us[int(0.95 * (len(delays_us) - 1))] // 1000,
        delay_max_ms=delays_us[-1] // 1000,
    )


def read(clip: str, *, size: tuple[int, int], frames: int) -> list[Picture]:
    if clip == "scene":
        scene = Scene(width=size[0], height=size[1], fps=FPS)
        return [scene.picture(index) for index in range(frames)]
    return list(open_video(Path(clip), size=size, fps=FPS, frames=frames))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="+", metavar="CLIP")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--rates", default="20,30,40,50,65,80,100,130")
    parser.add_argument("--every", default="1,2,3,4")
    parser.add_argument("--codec", default=Codec.AV1, type=Codec)
    parser.add_argument("--key-every", default=3600, type=float)
    parser.add_argument("--frames", default=150, type=int)
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    print("clip             rate  fps  wire   VMAF  PSNR-Y  skipped  delay p95, max ms")
    for clip in options.clips:
        pictures = read(clip, size=(width, height), frames=options.frames)
        for rate, every in itertools.product(
            map(int, options.rates.split(",")), map(int, options.every.split(","))
        ):
            row = measure(
                pictures,
                codec=options.codec,
                wire_bps=rate * 1000,
                every=every,
                key_us=round(options.key_every * 1e6),
            )
            if row is not None:
                print(
                    f"{Path(clip).stem[:16]:16} {rate:4}  {FPS / every:4.1f} {row.wire_kbps:5.1f}"
                    f" {row.vmaf:6.2f}  {row.psnr_y:6.2f}  {row.skipped:7}"
                    f"  {row.delay_p95_ms:4}, {row.delay_max_ms}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
