"""The `evaluate` subcommand: its options, and the checks before anything is encoded."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

DEFAULT_CODECS = "av1:default,h264:superfast"
DEFAULT_BITRATES = "50,100,200,400"
DEFAULT_METRICS = "vmaf,psnr,ssim"

EXAMPLES = """codecs:
  av1:PRESET              codecpilot: AV1 under the frame controller (ultralow ... best)
  h264:PRESET             x264, baseline profile, low-delay CBR with a VBV of one second
  h264-controlled:PRESET  x264 under the frame controller, as in a call
  libaom-cbr:SPEED        libaom's own CBR with libwebrtc's settings; SPEED-nodrop drops no picture
  openh264                Cisco's encoder
  Every codec is compared with each h264, openh264 and libaom-cbr that is named.

examples:
  codecpilot evaluate talk.mp4 --out out/
      AV1 against x264 at 50, 100, 200 and 400 kbps; open out/report.html
  codecpilot evaluate *.y4m --codecs av1:low,av1:high,h264:superfast,openh264 --jobs 1 --out out/
      one run at a time, for exact CPU times
  codecpilot evaluate talk.mp4 --schedule "0:300,3:100,6:300,9:50,12:150,14:400" \\
      --key-frames 5,10.5 --codecs av1:default,libaom-cbr:10 --out out/
      how the rate is held
"""


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "evaluate",
        help="compare codecs, presets and rate control offline, on files",
        description="Encode clips with several codecs at several rates, measure them, write a report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "clips", nargs="+", metavar="CLIP", help="any video file; .yuv needs --size"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where results go")
    _add_what(parser)
    _add_how(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the request, then evaluate. Raises LocalError for a wrong request."""
    from .evaluation import evaluate
    from .options import parse_request

    if args.bitrates is None and args.schedule is None:
        args.bitrates = DEFAULT_BITRATES
    return evaluate(parse_request(args))


def _add_what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--codecs", default=DEFAULT_CODECS, help=f"default: {DEFAULT_CODECS}")
    parser.add_argument(
        "--bitrates",
        metavar="KBPS,...",
        help=f"constant rates (default: {DEFAULT_BITRATES}, none with --schedule)",
    )
    parser.add_argument(
        "--h264-bitrates",
        metavar="KBPS,...",
        help="constant rates of the H.264 codecs, which need more (default: --bitrates)",
    )
    parser.add_argument(
        "--schedule",
        metavar="S:KBPS,...",
        help="a target from each time on; or random:COUNT:LOW-HIGH:SECONDS",
    )
    parser.add_argument("--key-frames", metavar="S,...", default="", help="force key frames then")
    parser.add_argument("--metrics", default=DEFAULT_METRICS, help=f"default: {DEFAULT_METRICS}")
    parser.add_argument(
        "--vmaf-every",
        type=int,
        default=1,
        metavar="N",
        help="score every Nth picture (default: 1)",
    )


def _add_how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", metavar="WxH", help="scale to this size (raw files: their size)")
    parser.add_argument("--fps", metavar="N", help="convert to this rate (raw files: their rate)")
    parser.add_argument("--frames", type=int, metavar="N", help="at most this many pictures")
    parser.add_argument(
        "--capture-gaps", metavar="LOW-HIGH", help="random times between pictures, in ms"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of random schedules and gaps (default: 0)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a CPU)")
    parser.add_argument("--dask", metavar="ADDRESS", help="use a Dask cluster instead")
