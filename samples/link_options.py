"""The options of an emulated link, the same for a simulated and a live call."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

# Each option and the scenario's key that it sets.
LINK_OPTIONS = {
    "rate": ("rate", "SPEC", 'kbps, or "0:600,10:150": 600 kbps, from 10 s on 150 (default: 1000)'),
    "trace": ("trace", "FILE", "a Mahimahi trace in place of --rate"),
    "delay": ("delay_ms", "MS", "propagation, one way (default: 25)"),
    "jitter": ("jitter_ms", "MS", "added at random, up to this (default: 0)"),
    "loss": ("loss", "P", 'share of packets lost, 0 to 1, or "s:P,..." (default: 0)'),
    "burst": ("burst", "N", "mean length of a loss, in packets (default: 1, independent losses)"),
    "queue": ("queue_ms", "MS", "the queue's limit (default: 300)"),
}
_EXCLUSIVE = ("rate", "trace")


def add_link_arguments(container: argparse._ActionsContainer) -> None:
    """Declare them."""
    either = container.add_mutually_exclusive_group()
    for option, (_, metavar, text) in LINK_OPTIONS.items():
        place = either if option in _EXCLUSIVE else container
        place.add_argument(f"--{option}", metavar=metavar, help=text)


def link_values(args: argparse.Namespace) -> dict[str, str]:
    """Those that were given, by the scenario's keys."""
    return option_values(args, LINK_OPTIONS)


def option_values(
    args: argparse.Namespace, options: Mapping[str, tuple[str, str, str]]
) -> dict[str, str]:
    """Options that were given, by the keys that they set."""
    given = {key: getattr(args, option) for option, (key, _, _) in options.items()}
    return {key: value for key, value in given.items() if value is not None}
