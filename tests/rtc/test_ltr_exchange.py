"""What passes between the two cores of a transceiver, and when the receiver hears that media carried it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from codecpilot.rtc.ltr_exchange import LtrExchange
from codecpilot.rtc.rtp.extensions import LTR_ACK, ExtensionMap


@dataclass
class Sender:
    carries: bool = True
    frames: int = 0
    told: list[Any] = field(default_factory=list)
    heard: list[int] = field(default_factory=list)

    @property
    def settings(self) -> Any:
        return SimpleNamespace(extensions=ExtensionMap({LTR_ACK: 8} if self.carries else {}))

    @property
    def counters(self) -> Any:
        return SimpleNamespace(framesSent=self.frames)

    def set_ltr_ack(self, frame_id: int) -> None:
        self.told.append(frame_id)

    def handle_ltr_acks(self, frame_ids: list[int]) -> None:
        self.heard += frame_ids


@dataclass
class Receiver:
    ltr_ack: int | None = None
    from_peer: list[int] = field(default_factory=list)
    carried: list[tuple[int, int]] = field(default_factory=list)

    def take_peer_acks(self) -> list[int]:
        taken, self.from_peer = self.from_peer, []
        return taken

    def handle_ltr_ack_sent(self, frame_id: int, *, now_us: int) -> None:
        self.carried.append((frame_id, now_us))


class Exchange:
    def __init__(self, **fields: Any) -> None:
        self.sender, self.receiver = Sender(**fields), Receiver()
        self._exchange = LtrExchange()

    def at(self, now_us: int) -> None:
        self._exchange.exchange(sender=self.sender, receiver=self.receiver, now_us=now_us)  # type: ignore[arg-type]


def test_each_reference_is_told_once_and_each_frame_that_follows_carries_it() -> None:
    exchange = Exchange(frames=7)
    exchange.at(0)
    assert exchange.sender.told == []
    exchange.receiver.ltr_ack = 5
    exchange.at(10)
    exchange.at(20)
    assert (exchange.sender.told, exchange.receiver.carried) == ([5], [])
    exchange.sender.frames = 8
    exchange.at(30)
    exchange.at(40)
    exchange.sender.frames = 9
    exchange.at(50)
    assert exchange.receiver.carried == [(5, 30), (5, 50)]
    exchange.receiver.ltr_ack, exchange.sender.frames = 6, 10
    exchange.at(60)
    assert exchange.sender.told == [5, 6]
    assert len(exchange.receiver.carried) == 2


def test_what_the_peer_acknowledges_reaches_the_sender_once() -> None:
    exchange = Exchange()
    exchange.receiver.from_peer = [3, 4]
    exchange.at(0)
    exchange.at(10)
    assert exchange.sender.heard == [3, 4]


def test_media_that_cannot_carry_it_is_not_said_to() -> None:
    exchange = Exchange(carries=False)
    exchange.receiver.ltr_ack = 5
    for frames in range(3):
        exchange.sender.frames = frames
        exchange.at(10 * frames)
    assert (exchange.sender.told, exchange.receiver.carried) == ([], [])
