"""Messages between the command and its peers."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.samples.call.pipes import LAST_WORDS_S, Message, PeerPipes, read_messages

VALUES = st.dictionaries(
    st.text(max_size=8), st.none() | st.booleans() | st.integers() | st.text(), max_size=4
)
MESSAGES = st.builds(
    Message, kind=st.text(min_size=1, max_size=8), values=VALUES, blob=st.binary(max_size=300)
)


async def read_all(data: bytes) -> list[Message]:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return [message async for message in read_messages(reader)]


@given(st.lists(MESSAGES, max_size=5))
@settings(max_examples=50)
def test_what_was_sent_is_read_again(messages: list[Message]) -> None:
    data = b"".join(message.encode() for message in messages)
    assert asyncio.run(read_all(data)) == messages


@given(MESSAGES, st.data())
@settings(max_examples=50)
def test_a_message_cut_short_ends_the_stream(message: Message, data: Any) -> None:
    encoded = message.encode()
    cut = data.draw(st.integers(0, len(encoded) - 1))
    assert asyncio.run(read_all(message.encode() + encoded[:cut])) == [message]


async def test_a_peer_reads_answers_and_learns_that_the_command_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last_words: list[Any] = []

    class FakeTimer:
        def __init__(self, interval: float, function: Any, args: Any) -> None:
            last_words.append((interval, function, args))

        def start(self) -> None:
            pass

    to_peer, from_command = os.pipe()
    from_peer, to_command = os.pipe()
    with os.fdopen(to_command, "wb") as sink, os.fdopen(from_peer, "rb") as answers:
        pipes = PeerPipes(to_peer, sink)
        sent = [Message(kind="start", values={"name": "A"}), Message(kind="offer")]
        encoded = b"".join(message.encode() for message in sent)
        os.write(from_command, encoded[:20])
        os.write(from_command, encoded[20:])
        assert [await pipes.receive(), await pipes.receive()] == sent
        pipes.send("picture", blob=b"jpeg\n", side="A")
        pipes.flush()
        expected = Message(kind="picture", values={"side": "A"}, blob=b"jpeg\n").encode()
        assert answers.read(len(expected)) == expected
        monkeypatch.setattr(threading, "Timer", FakeTimer)
        os.close(from_command)
        assert await pipes.receive() is None
        assert last_words == [(LAST_WORDS_S, os._exit, (1,))]
    os.close(to_peer)
