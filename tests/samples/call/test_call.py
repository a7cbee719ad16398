"""Whole calls between real processes over real sockets: figures, recording, page, and every kind of end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import av
import cv2
import numpy as np
import psutil
import pytest

COMMAND = [
    sys.executable,
    "-c",
    "from codecpilot.samples.cli import main; raise SystemExit(main())",
]
# Without adaptation: what is sent depends on no other load of the machine.
SMALL = ["--size", "320x180", "--preset", "low", "--adaptation", "off"]
FIELDS = {"from", "to", "codec", "width", "height", "captured", "encoded", "decoded", "shown"} | {
    *("freeze_count", "freeze_s", "kbps"),
    *("latency_ms", "av_offset_ms", "encode_ms", "decode_ms"),
}
# Generous: the machine may be busy with other things.
TIMEOUT_S = 90


@contextmanager
def running_call(*args: str) -> Iterator[subprocess.Popen[str]]:
    """A call as a child process; whatever happens, it and its peers are gone afterwards."""
    process = subprocess.Popen(
        [*COMMAND, "call", *SMALL, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            peers = peers_of(process)
            process.kill()
            psutil.wait_procs(peers, timeout=10)
        process.communicate()


def peers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


async def peers_started(process: subprocess.Popen[str]) -> list[psutil.Process]:
    async with asyncio.timeout(TIMEOUT_S):
        while len(peers := peers_of(process)) < 2:
            assert process.poll() is None
            await asyncio.sleep(0.02)
    return peers


def check_direction(direction: dict[str, Any], *, captured: int) -> None:
    assert direction.keys() >= FIELDS
    assert (direction["codec"], direction["width"], direction["height"]) == ("AV1", 320, 180)
    assert direction["captured"] == captured
    # Capture times follow a late start of the source, so one picture may cross the window's edge.
    assert captured + 1 >= direction["encoded"] >= direction["decoded"] >= direction["shown"]
    assert direction["shown"] > captured // 3
    for name in ("latency_ms", "encode_ms", "decode_ms"):
        spread = direction[name]
        assert 0 < spread["p50"] <= spread["p95"] < 5_000
    assert -2_000 < direction["av_offset_ms"]["p50"] < 2_000
    assert 20 < direction["kbps"] < 400


def test_a_headless_call_counts_every_picture_and_keeps_what_it_received(tmp_path: Path) -> None:
    out, kept = tmp_path / "out.json", tmp_path / "kept"
    args = ["--headless", "--seconds", "3", "--json", str(out), "--record", str(kept)]
    with running_call(*args) as process:
        output, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
    report = json.loads(out.read_text())
    assert report["seconds"] == 3
    assert [(d["from"], d["to"]) for d in report["directions"]] == [("A", "B"), ("B", "A")]
    for direction in report["directions"]:
        check_direction(direction, captured=90)
    for stats in report["stats"].values():
        video = {entry["type"]: entry for entry in stats if entry.get("kind") == "video"}
        assert video["outbound-rtp"]["framesEncoded"] >= 30
        assert video["inbound-rtp"]["framesDecoded"] >= 30
        assert video["outbound-rtp"]["qualityLimitationDurations"]["cpu"] < 60
        (pair,) = (entry for entry in stats if entry["type"] == "candidate-pair")
        assert pair["transportFeedbackReceived"] > 3
    assert "A → B" in output
    recordings = sorted(kept.iterdir())
    assert [str(path) for path in recordings] == report["recordings"]
    assert len(recordings) == 2
    for path in recordings:
        check_recording(path)


def test_a_call_over_an_emulated_link_tells_what_the_link_did(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    args = ["--headless", "--seconds", "3", "--json", str(out)]
    link = ["--rate", "600", "--delay", "60", "--loss", "0.05", "--queue", "400"]
    with running_call(*args, *link) as process:
        output, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
    report = json.loads(out.read_text())
    assert report["settings"]["link"] == {
        "rate": "600",
        "delay_ms": "60",
        "loss": "0.05",
        "queue_ms": "400",
    }
    for direction in report["directions"]:
        check_direction(direction, captured=90)
        assert direction["latency_ms"]["p50"] > 60
        figures = direction["link"]
        assert 150 < figures["packets_offered"] < 1000
        assert 0 < figures["packets_lost"] < figures["packets_offered"] // 4
        assert 0 <= figures["queue_delay_ms"]["p50"] <= figures["queue_delay_ms"]["p95"] < 420
        assert 0.1 < figures["utilisation"] < 1
    assert "link: queue delay" in output


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--loss", "2"], "loss 2 is outside 0..1"),
        (["--rate", "600", "--trace", "x"], "--trace: not allowed with argument --rate"),
        (["--trace", "no such file"], "no such file"),
    ],
)
def test_a_link_that_cannot_be_is_one_line(args: list[str], words: str) -> None:
    with running_call("--headless", "--seconds", "1", *args) as process:
        _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 2
    assert words in errors
    assert errors.count("\n") == 1


def check_recording(path: Path) -> None:
    with av.open(str(path)) as container:
        assert {stream.type for stream in container.streams} == {"video", "audio"}
        pictures = sum(1 for _ in container.decode(video=0))
        assert (container.streams.video[0].width, container.streams.video[0].height) == (320, 180)
    with av.open(str(path)) as container:
        sound = sum(frame.samples for frame in container.decode(audio=0)) / 48_000
    assert pictures > 30
    assert 1 < sound < 60


async def test_a_page_shows_a_call_until_ctrl_c(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with running_call("--port", "0", "--json", str(out)) as process:
        line = await asyncio.to_thread(process.stdout.readline)  # type: ignore[union-attr]
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found is not None
        async with (
            asyncio.timeout(TIMEOUT_S),
            aiohttp.ClientSession() as session,
            session.ws_connect(found[0] + "live") as page,
        ):
            pictures, directions = await watch(page)
        peers = peers_of(process)
        process.send_signal(signal.SIGINT)
        output, errors = await asyncio.to_thread(process.communicate, None, TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
    assert set(pictures) == {"A", "B"}
    for jpeg in pictures.values():
        picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
        assert picture is not None
        assert picture.shape == (180, 320, 3)
        assert picture.std() > 10
    assert {direction["codec"] for direction in directions} == {"AV1"}
    assert "A → B" in output
    report = json.loads(out.read_text())
    assert len(report["directions"]) == 2
    assert report["seconds"] > 0
    assert not psutil.wait_procs(peers, timeout=10)[1]


async def watch(page: aiohttp.ClientWebSocketResponse) -> tuple[dict[str, bytes], list[Any]]:
    """What a page gets, until both sides' pictures and two rounds of figures came."""
    pictures: dict[str, bytes] = {}
    rounds: list[list[Any]] = []
    async for message in page:
        if message.type is aiohttp.WSMsgType.BINARY:
            pictures[chr(message.data[0])] = message.data[1:]
        elif (told := json.loads(message.data))["kind"] == "figures":
            rounds.append(told["directions"])
        if len(pictures) == 2 and len(rounds) >= 4:
            return pictures, rounds[-1]
    raise AssertionError("the page ended")


async def test_ctrl_c_before_the_peers_are_connected_ends_cleanly(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with running_call("--headless", "--json", str(out)) as process:
        peers = await peers_started(process)
        process.send_signal(signal.SIGINT)
        output, errors = await asyncio.to_thread(process.communicate, None, TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
    assert "before anything was measured" in output
    assert json.loads(out.read_text())["directions"] == []
    assert not psutil.wait_procs(peers, timeout=10)[1]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
async def test_peers_end_when_the_command_is_killed() -> None:
    with running_call("--headless") as process:
        peers = await peers_started(process)
        process.send_signal(signal.SIGKILL)
        survivors = await asyncio.to_thread(psutil.wait_procs, peers, TIMEOUT_S)
    assert not survivors[1]


async def test_a_peer_that_dies_ends_the_call_with_one_line() -> None:
    with running_call("--headless") as process:
        peers = await peers_started(process)
        peers[0].kill()
        _, errors = await asyncio.to_thread(process.communicate, None, TIMEOUT_S)
    assert process.returncode == 1
    assert re.fullmatch(r"codecpilot: peer [AB] ended unexpectedly\n", errors)


async def test_a_source_that_ends_during_the_call_ends_it_with_one_line(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mkv"
    with av.open(str(clip), "w") as container:
        video = container.add_stream("ffv1", rate=30)
        video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
        for _ in range(60):
            gray = av.VideoFrame.from_ndarray(np.full((96, 64), 99, np.uint8), format="yuv420p")
            container.mux(video.encode(gray))
        container.mux(video.encode(None))
    with running_call("--headless", "--source", str(clip)) as process:
        await peers_started(process)
        clip.unlink()
        _, errors = await asyncio.to_thread(process.communicate, None, TIMEOUT_S)
    assert process.returncode == 2
    assert errors == f"codecpilot: {clip}: no such file\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_figures_that_cannot_be_printed_are_written_all_the_same(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    args = ["call", *SMALL, "--headless", "--seconds", "1", "--json", str(out)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *args], stdout=full, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S
        )
    assert done.returncode == 1
    assert done.stderr == "codecpilot: [Errno 28] No space left on device\n"
    assert len(json.loads(out.read_text())["directions"]) == 2
