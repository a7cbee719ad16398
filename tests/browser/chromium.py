"""Headless Chromium as the other side of a call: the page's functions as methods."""

from __future__ import annotations

from typing import Any

from aiortc import RTCPeerConnection, RTCSessionDescription
from playwright.async_api import Page

from codecpilot.samples.call.link_path import LinkPath

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream=fps=30",
    "--use-fake-ui-for-media-stream",
    "--allow-loopback-in-peer-connection",
    "--disable-features=WebRtcHideLocalIpsWithMdns",
)
CAMERA = {"width": {"exact": 640}, "height": {"exact": 360}, "frameRate": 30}


class ChromiumPeer:
    """A browser page with one peer connection; codec is its own preference."""

    def __init__(self, page: Page, *, receive: bool = True, codec: str | None = None) -> None:
        self._page = page
        self._choices = {"receive": receive, "codec": codec}

    async def open(
        self,
        *,
        camera: bool = False,
        cameras: int = 1,
        microphone: bool = False,
        channel: bool = False,
        decode_reports: bool = False,
        scalability_mode: str | None = None,
    ) -> None:
        """Create the connection with the fake devices' tracks; cameras is how many of the one."""
        parts = {
            "camera": CAMERA if camera else False,
            "cameras": cameras,
            "microphone": microphone,
            "channel": channel,
            "decodeReports": decode_reports,
            "scalabilityMode": scalability_mode,
        }
        await self._page.evaluate("parts => open(parts)", parts)

    async def answer(self, pc: RTCPeerConnection, *, path: LinkPath | None = None) -> str:
        """Take pc's offer; returns the answer's SDP. pc is side A of a path, this is side B."""
        await pc.setLocalDescription(await pc.createOffer())
        offer = _led(path, pc.localDescription.sdp, to="B")
        sdp: str = await self._page.evaluate(
            "([choices, sdp]) => answer(choices, sdp)", [self._choices, offer]
        )
        answer = RTCSessionDescription(sdp=_led(path, sdp, to="A"), type="answer")
        await pc.setRemoteDescription(answer)
        return sdp

    async def offer(self, pc: RTCPeerConnection, *, path: LinkPath | None = None) -> str:
        """Make an offer that pc answers; returns the offer's SDP. Sides as with answer()."""
        sdp: str = await self._page.evaluate("choices => offer(choices)", self._choices)
        offer = RTCSessionDescription(sdp=_led(path, sdp, to="A"), type="offer")
        await pc.setRemoteDescription(offer)
        await pc.setLocalDescription(await pc.createAnswer())
        answer = _led(path, pc.localDescription.sdp, to="B")
        await self._page.evaluate("sdp => accept(sdp)", answer)
        return sdp

    async def stats(self, kind: str, *, media: str = "video") -> dict[str, Any] | None:
        """The first of all_stats(); None without."""
        return next(iter(await self.all_stats(kind, media=media)), None)

    async def all_stats(self, kind: str, *, media: str = "video") -> list[dict[str, Any]]:
        """The statistics entries of a type, of one media kind where they have one."""
        entries: list[dict[str, Any]] = await self._page.evaluate("stats()")
        return [e for e in entries if e["type"] == kind and e.get("kind", media) == media]

    async def codec_of(self, entry: dict[str, Any]) -> str:
        """The mimeType that a stream's statistics refer to."""
        entries = {e["id"]: e for e in await self._page.evaluate("stats()")}
        return str(entries[entry["codecId"]]["mimeType"])

    async def look(self) -> list[float]:
        """Luma of the shown picture at 32x18 pixels."""
        pixels: list[float] = await self._page.evaluate("look()")
        return pixels

    async def turn(self, direction: str) -> None:
        """Set the video's direction for later rounds of offer and answer."""
        await self._page.evaluate("direction => turn(direction)", direction)

    async def scale_down(self, by: int) -> None:
        """Send smaller pictures from now on."""
        await self._page.evaluate("by => scaleDown(by)", by)

    async def send_codec(self, codec: str) -> None:
        """Go on sending with this negotiated codec."""
        await self._page.evaluate("codec => sendCodec(codec)", codec)

    async def report(self, text: str) -> None:
        """Send on the channel of decode reports."""
        await self._page.evaluate("text => reports.send(text)", text)

    async def hang_up(self) -> None:
        """Close the connection; the page stays."""
        await self._page.evaluate("close()")

    async def say(self, text: str) -> None:
        """Send on the data channel."""
        await self._page.evaluate("text => opened.send(text)", text)

    async def heard(self) -> list[str]:
        """What came on the data channel."""
        messages: list[str] = await self._page.evaluate("messages")
        return messages

    async def close(self) -> None:
        """End the call and the page."""
        await self._page.evaluate("close()")
        await self._page.close()


def _led(path: LinkPath | None, sdp: str, *, to: str) -> str:
    return sdp if path is None else path.lead({"sdp": sdp}, to=to)["sdp"]
