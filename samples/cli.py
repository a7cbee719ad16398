"""The codecpilot command: finds the subcommand, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

# Each is a module with add_parser(subparsers); what it imports above its functions is loaded by every
# run of the command, so heavy imports stand inside the functions that need them.
COMMANDS = (
    "codecpilot.samples.call.command",
    "codecpilot.samples.evaluate.command",
    "codecpilot.samples.simulate.command",
    "codecpilot.samples.eligibility.command",
    "codecpilot.samples.doctor",
)

EXIT_FAILED = 1
EXIT_USAGE = 2  # what argparse itself uses
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells count
EXAMPLES = """examples:
  codecpilot call                               a call between two peers, shown on a page
  codecpilot call --headless --seconds 10       the same without a page, ends with its figures
  codecpilot evaluate talk.mp4 --out out/       compare codecs on a file; writes out/report.html
  codecpilot simulate --rate 600 --out out/     a call in virtual time; writes out/report.html
  codecpilot eligibility --help                 which devices get AV1, learned from their calls
  codecpilot doctor                             what this machine's codecs can do
"""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line: what was wrong, and where the help is."""

    def error(self, message: str) -> NoReturn:
        """Print the error without the usage and leave with exit code 2."""
        self.exit(EXIT_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Version(argparse.Action):
    """Prints the version; looks it up only when asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from .version import codecpilot_version

        print(f"codecpilot {codecpilot_version()}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command, with every subcommand."""
    parser = OneLineParser(
        prog="codecpilot",
        description="AV1 and H.264 for real-time calls, kept inside the network's rate.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=OneLineParser
    )
    for name in COMMANDS:
        importlib.import_module(name).add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 a wrong request, 130 Ctrl-C.

    Ctrl-C is how a call is meant to end, so `call` takes it itself and returns 0.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Windows' code pages lack the signs that tables are drawn with.
        sys.stdout.reconfigure(errors="replace")
    from ..codecs.errors import CodecpilotError, LocalError

    try:
        args = build_parser().parse_args(argv)
        return int(args.run(args))
    except LocalError as error:
        return _complain(error, EXIT_USAGE)
    except CodecpilotError as error:
        return _complain(error, EXIT_FAILED)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        return _complain_of_system(error)


def _complain(error: Exception, code: int) -> int:
    print(f"codecpilot: {error}", file=sys.stderr)
    return code


def _complain_of_system(error: OSError) -> int:
    """A full disk under the standard output, most likely: Python would try it again as it ends."""
    code = _complain(error, EXIT_FAILED)
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return code
