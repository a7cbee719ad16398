"""Measures what each operation looks like at a rate: the table of rtc/adaptation/quality.py.

    python -m tests.bench.operations CLIP... [--size 640x360] [--rates 50,100,200,400,800] [--frames 75]

Rates are the encoder's in kbit/s. PSNR-Y and VMAF (every fifth picture) compare the screen with the clip at
all 30 pictures a second, so what is left out costs as repeats do. The first second is not scored.
CLIP is a path, or scene for the project's own scene.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from codecpilot.codecs.factory import open_decoder, open_encoder
from codecpilot.codecs.metrics import psnr_y
from codecpilot.codecs.pictures import new_picture, scale_picture
from codecpilot.codecs.slot_book import SlotBook
from codecpilot.codecs.types import Codec, EncodedFrame, Picture
from codecpilot.codecs.vmaf import vmaf
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.rtc.adaptation.operation import Operation
from codecpilot.rtc.encode_loop import encode_picture

from tests.bench.frame_rates import FPS, read

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
AV1, H264 = Codec.AV1, Codec.H264
OPERATIONS = (
    Operation(codec=AV1),
    Operation(codec=AV1, preset="low"),
    Operation(codec=AV1, preset="high"),
    Operation(codec=AV1, preset="best"),
    Operation(codec=AV1, preset="ultralow", scale=HALF),
    Operation(codec=AV1, preset="ultralow", scale=QUARTER),
    Operation(codec=AV1, every=2),
    Operation(codec=AV1, every=3),
    Operation(codec=H264),
    Operation(codec=H264, scale=HALF),
    Operation(codec=H264, scale=QUARTER),
    Operation(codec=H264, every=2),
)
VMAF_EVERY = 5


def measure(
    pictures: Sequence[Picture], operation: Operation, *, target_bps: int
) -> tuple[float, float, float]:
    """PSNR-Y, VMAF and the rate in kbit/s."""
    size = {"width": pictures[0].width, "height": pictures[0].height}
    codec, bits = operation.codec, 0
    controller, book = FrameController(target_bps=target_bps), SlotBook()
    on_screen, shown = new_picture(**size), []
    with closing(open_encoder(codec, **size)) as encoder, closing(open_decoder(codec)) as decoder:
        for index, picture in enumerate(pictures):
            if index % operation.every == 0:
                result = encode_picture(
                    picture,
                    encoder=encoder,
                    controller=controller,
                    book=book,
                    frame_id=index,
                    now_us=picture.capture_us,
                    ltr=index > 0 and index % FPS < operation.every,
                    preset=operation.preset,
                    scale=operation.scale,
                )
                if isinstance(result, EncodedFrame):
                    bits += 8 * len(result.data)
                    decoded = decoder.decode(result.data)
                    on_screen = on_screen if decoded is None else scale_picture(decoded, **size)
            shown.append(on_screen)
    scored = list(zip(pictures, shown, strict=True))[FPS:]
    score = vmaf((a for a, _ in scored), (b for _, b in scored), fps=FPS, subsample=VMAF_EVERY)
    psnr = sum(itertools.starmap(psnr_y, scored)) / len(scored)
    return psnr, score.mean, bits * FPS / len(pictures) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="+", metavar="CLIP")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--rates", default="50,100,200,400,800")
    parser.add_argument("--frames", default=75, type=int)
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    rates = [int(rate) for rate in options.rates.split(",")]
    print("PSNR-Y / VMAF (real kbit/s) at", ", ".join(f"{rate} kbit/s" for rate in rates))
    for clip in options.clips:
        pictures = read(clip, size=(width, height), frames=options.frames)
        for operation in OPERATIONS:
            cells = []
            for rate in rates:
                psnr, score, kbps = measure(pictures, operation, target_bps=rate * 1000)
                cells.append(f"{psnr:5.2f} / {score:4.1f} ({kbps:3.0f})")
            shape = f"{operation.codec} {operation.preset} {operation.scale} 1/{operation.every}"
            print(f"{Path(clip).stem[:12]:12} {shape:24}", "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
