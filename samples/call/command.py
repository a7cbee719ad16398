"""The `call` subcommand: its options, the checks before anything starts, and its exit code."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..link_options import add_link_arguments, link_values
from . import options as opts
from .device_arguments import add_device_arguments, device_options
from .device_options import SIDES

if TYPE_CHECKING:
    from .options import CallOptions

EXAMPLES = """examples:
  codecpilot call
      a call with a drawn scene; open the address that it prints
  codecpilot call --source talk.mp4 --size 1280x720 --bitrate 1500
      both sides send the file, with its own sound
  codecpilot call --source camera:0 --codec H264
      the first camera on side A, the drawn scene on side B
  codecpilot call --headless --seconds 10 --json out.json
      ten seconds without a page; the figures of both directions as JSON
  codecpilot call --rate 600 --delay 50 --loss 0.02
      an emulated link each way; the options mean what they mean in codecpilot simulate
  codecpilot call --delay 50 --loss 0.05 --burst 4 --set fec=off --set ltr=off
      without some of what is done against loss, for comparison
  codecpilot call --send-codecs H264/AV1 --max-fps 15
      side A sends H.264 and side B AV1, both at 15 pictures a second at most
  codecpilot call --eligibility models/v2
      both devices are scored, and the call begins as they promise to hold it
  codecpilot call --record kept/
      keeps what each side received, as it came
  codecpilot call --telemetry store/
      keeps how both devices did, for codecpilot eligibility

Ctrl-C ends a call; its figures so far are printed, and written where --json says.
"""


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "call",
        help="two peers on this machine call each other; a page shows both",
        description="Two peers, each in its own process, call each other over the loopback interface.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_media_arguments(parser)
    _add_control_arguments(parser)
    add_device_arguments(
        parser.add_argument_group(
            "devices", "two values with a slash between them are side A's and side B's"
        )
    )
    link = parser.add_argument_group(
        "emulated link",
        "between the peers, none by default; losses and changes begin with what is measured",
    )
    add_link_arguments(link)
    link.add_argument(
        "--simulated",
        action="store_true",
        help="afterwards simulate the same call, and set the figures of both side by side",
    )
    _add_output_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the request, then hold the call. Raises LocalError for a wrong request."""
    call = _options(args)
    listener = None if args.headless else _listen(args.port)
    try:
        _check_media(call)
        if call.link:
            from .link_path import check_link

            check_link(call.link)
        if args.simulated:
            from .simulated import check_simulated

            check_simulated(call)
        _check_outputs(call, json_path=args.json)
        from .host import hold_call

        return hold_call(call, listener=listener, json_path=args.json, simulated=args.simulated)
    finally:
        if listener is not None:
            listener.close()


def _add_media_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--source",
        type=opts.parse_source,
        default="synthetic",
        metavar="FILE|camera:N|synthetic",
        help="what both sides send (default: a drawn scene; a camera is side A's alone)",
    )
    parser.add_argument(
        "--size", type=opts.parse_size, default="640x360", metavar="WxH", help="default: 640x360"
    )
    parser.add_argument(
        "--fps", type=opts.parse_fps, default="30", help="pictures a second (default: 30)"
    )
    parser.add_argument(
        "--bitrate",
        type=opts.parse_kbps,
        metavar="KBPS",
        help="highest video rate of each direction (default: by size, 400 at 640x360, 1131 at 1280x720)",
    )
    parser.add_argument(
        "--audio",
        type=opts.parse_audio_kbps,
        default=opts.DEFAULT_AUDIO_BPS,
        metavar="KBPS",
        help="highest rate of sound, less where the path is narrow; 0: no sound (default: 32)",
    )
    parser.add_argument(
        "--seed",
        type=opts.parse_seed,
        default=0,
        help="of the drawn scene and of what the link does at random (default: 0)",
    )


def _add_control_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--codec", default="AV1", choices=["AV1", "H264"], help="preferred codec (default: AV1)"
    )
    parser.add_argument(
        "--preset",
        default="auto",
        metavar="NAME",
        help="best AV1 preset: ultralow, low, default, high, best (default: auto, as the processor "
        "allows)",
    )
    parser.add_argument(
        "--cc",
        default=opts.CONGESTION_CONTROLS[0],
        choices=opts.CONGESTION_CONTROLS,
        help="how the rate follows the path (default: codecpilot; gcc: as browsers do, remb: the "
        "receiver's estimate alone, none: not at all)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=opts.parse_setting,
        metavar="KEY=VALUE",
        help=f"a means against loss ({', '.join(opts.SWITCHES)}): off, on or auto (default)",
    )


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        type=opts.parse_port,
        default=opts.DEFAULT_PORT,
        help=f"the page's port on 127.0.0.1 (default: {opts.DEFAULT_PORT}; 0: any free one)",
    )
    parser.add_argument("--headless", action="store_true", help="no page")
    parser.add_argument(
        "--seconds", type=opts.parse_seconds, metavar="N", help="end after N measured seconds"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--record", type=Path, metavar="DIR", help="keep what was received here")
    parser.add_argument(
        "--telemetry",
        type=Path,
        metavar="DIR",
        help="keep how both devices did here, a row each 10 s, without addresses or names "
        "(needs the eligibility extra; not kept by default)",
    )


def _options(args: argparse.Namespace) -> CallOptions:
    from ...codecs.types import Codec

    width, height = args.size
    default_bps = opts.default_bitrate_bps(width=width, height=height, fps=args.fps)
    return opts.CallOptions(
        source=args.source,
        width=width,
        height=height,
        fps=args.fps,
        bitrate_bps=args.bitrate or default_bps,
        audio_bps=args.audio,
        codec=Codec(args.codec),
        preset=args.preset,
        seed=args.seed,
        cc=args.cc,
        seconds=args.seconds,
        record_dir=args.record,
        record_name=time.strftime("%Y%m%d-%H%M%S"),
        telemetry_dir=args.telemetry,
        call_id="" if args.telemetry is None else secrets.token_hex(16),
        link=link_values(args),
        switches=dict(args.set),
        device=device_options(args),
    )


def _listen(port: int) -> socket.socket:
    """The page's socket, taken before anything starts, so that a busy port ends the command at once."""
    from ...codecs.errors import LocalError

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # Elsewhere the option would let two calls share the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise LocalError(
            f"port {port} on 127.0.0.1 cannot be used ({error.strerror}); choose another with --port"
        ) from error
    return listener


def _check_media(call: CallOptions) -> None:
    from ...rtc.connection import CallSettings
    from .source_tracks import check_source

    for side in SIDES:
        CallSettings(preset=call.preset, **call.device.settings(side))
    if call.device.eligibility is not None:
        from .eligibility import check_eligibility

        check_eligibility(call)
    check_source(call.source, width=call.width, height=call.height, fps=call.fps)


def _check_outputs(call: CallOptions, *, json_path: Path | None) -> None:
    from ...codecs.errors import LocalError
    from ..json_file import check_json_path

    check_json_path(json_path)
    if call.record_dir is not None:
        try:
            call.record_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LocalError(f"--record {call.record_dir}: {error.strerror}") from error
    if call.telemetry_dir is not None:
        from .telemetry import check_telemetry

        check_telemetry(call.telemetry_dir)
