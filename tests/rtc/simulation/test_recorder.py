"""What the recorder makes of packets, frames and decisions."""

from __future__ import annotations

from codecpilot.codecs.types import Codec, Content, EncodedFrame
from codecpilot.ratecontrol.messages import DropReason
from codecpilot.rtc.encode_loop import Skipped
from codecpilot.rtc.encoder_session import EncodeJob
from codecpilot.rtc.messages import ReceivedFrame
from codecpilot.rtc.resilience.decisions import Action, Decision, Reason
from codecpilot.rtc.rtp.packet import RtpPacket, wrap_rtx
from codecpilot.rtc.rtp.rtcp import (
    LtrAcknowledgement,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReferencePictureSelection,
    serialize_rtcp,
)
from codecpilot.rtc.simulation.link import Delivered, LossReason, Lost
from codecpilot.rtc.simulation.recorder import Recorder
from codecpilot.rtc.simulation.records import EventLog, PacketKind
from codecpilot.rtc.simulation.screen import Screen
from codecpilot.rtc.simulation.wire import Wire

from tests.rtc.fakes import AV1, H264, picture

FRAME_US = 40_000
FIRST_TIMESTAMP = 0xFFFF_FFF0
FEC_PAYLOAD_TYPE = 122
ARRIVES = Delivered(arrival_us=500_000, queue_us=0)


def recorder() -> Recorder:
    return Recorder(
        direction="a->b",
        sender="a",
        receiver="b",
        first_timestamp=FIRST_TIMESTAMP,
        wire=Wire([AV1, H264]),
        screen=Screen(frame_us=FRAME_US),
        events=EventLog(),
    )


def job(index: int, *, target_bps: int = 100_000, codec: Codec = Codec.AV1, **changes) -> EncodeJob:
    size = changes.pop("size", (64, 48))
    values = {
        "picture": picture(index * FRAME_US, width=size[0], height=size[1]),
        "codec": codec,
        "frame_id": index,
        "key": index == 0,
        "ltr": False,
        "target_bps": target_bps,
        "preset": "default",
        "content": Content.CAMERA,
        "now_us": index * FRAME_US,
    }
    return EncodeJob(**{**values, **changes})


def frame(index: int, *, size: int = 250, key: bool = False, **changes) -> EncodedFrame:
    values = {
        "data": bytes(size),
        "codec": Codec.AV1,
        "frame_id": index,
        "capture_us": index * FRAME_US,
        "key": key,
        "quantizer": 30,
        "temporal_id": 0,
        "dependencies": () if key else (index - 1,),
        "ltr_slot": 4 if key else None,
        "width": 64,
        "height": 48,
        "encode_us": 1000,
        "encode_cpu_us": 1000,
    }
    return EncodedFrame(**{**values, **changes})


def encode(made: Recorder, index: int, **changes) -> None:
    """Capture and encode picture `index`; changes go to its job."""
    result = changes.pop("result", None) or frame(index, key=index == 0)
    request = job(index, **changes)
    now_us = index * FRAME_US
    made.captured(request.picture, now_us=now_us)
    made.encoding(request, now_us=now_us)
    made.encoded(request, result, now_us=now_us + 1000)


def media(index: int, sequence: int, *, payload_type: int = AV1.payload_type) -> RtpPacket:
    timestamp = (FIRST_TIMESTAMP + index * FRAME_US * 9 // 100) & 0xFFFFFFFF
    return RtpPacket(payload_type, False, sequence, timestamp, 1, bytes(100))


def receive(made: Recorder, index: int, *, now_us: int) -> ReceivedFrame:
    received = ReceivedFrame(
        data=b"",
        codec=Codec.AV1,
        key=index == 0,
        frame_id=index,
        temporal_id=0,
        dependencies=(),
        first_sequence=index,
        last_sequence=index,
        rtp_timestamp=media(index, 0).timestamp + (1 << 32),
        capture_wall_us=None,
        first_us=now_us,
        complete_us=now_us,
    )
    made.received(received, now_us=now_us)
    return received


def tell(made: Recorder, action: Action, reason: Reason, *, value: int | None = None) -> None:
    decision = Decision(now_us=0, action=action, reason=reason, value=value)
    made.decisions.decided([decision], now_us=0)


def events(made: Recorder) -> list[tuple[str, str]]:
    log = made.decisions._events.events
    return [(event["event"], event["reason"]) for event in log]


def test_the_vbv_delay_is_the_buckets_after_each_frame():
    made = recorder()
    # 8000 bits at 100 kbit/s are 80 ms, of which 40 drain until the next frame.
    encode(made, 0, result=frame(0, size=1000, key=True))
    encode(made, 1, result=frame(1, size=250))
    encode(made, 2, result=frame(2, size=250), target_bps=50_000)
    assert [f.vbv_delay_us for f in made.frames] == [80_000, 60_000, 80_000]


def test_a_picture_that_is_not_sent_says_why():
    made = recorder()
    encode(made, 0)
    skipped = Skipped(reason=DropReason.BACKLOG, tries=0, encode_us=0, encode_cpu_us=0)
    encode(made, 1, result=skipped)
    made.captured(picture(2 * FRAME_US), now_us=2 * FRAME_US)
    assert [f.skipped for f in made.frames] == ["", "backlog", "encoder busy"]
    assert ("skip", "backlog") in events(made)


def test_key_frames_have_their_reasons():
    made = recorder()
    encode(made, 0)
    encode(made, 1)
    made.decisions.feedback(PictureLossIndication(sender_ssrc=1, media_ssrc=2))
    encode(made, 2, key=True, result=frame(2, key=True))
    encode(made, 3, codec=Codec.H264, key=True, result=frame(3, key=True))
    encode(made, 4, size=(32, 24), codec=Codec.H264, result=frame(4, key=True))
    assert [reason for event, reason in events(made) if event == "key"] == [
        "start of the stream",
        "PLI",
        "codec switch",
        "picture size",
    ]
    assert made.decisions.codec_switches == 1


def test_a_target_moves_for_the_receivers_estimate_or_the_senders():
    made = recorder()
    encode(made, 0)
    remb = ReceiverEstimatedMaximumBitrate(sender_ssrc=1, bitrate_bps=90_000, ssrcs=(2,))
    made.decisions.feedback(remb)
    encode(made, 1, target_bps=90_000)
    encode(made, 2, target_bps=95_000)
    assert [reason for event, reason in events(made) if event == "target"] == [
        "setting",
        "receiver's estimate",
        "sender's estimate",
    ]


def test_tries_and_coded_sizes_are_logged():
    made = recorder()
    encode(made, 0)
    encode(made, 1, result=frame(1, tries=3))
    encode(made, 2, result=frame(2, width=48, height=36))
    assert events(made)[2:] == [("retry", "over its cap"), ("scale", "rate")]


def test_what_a_sender_says_of_a_frame_is_its_reason():
    made = recorder()
    tell(made, Action.KEY, Reason.START)
    encode(made, 0)
    made.decisions.feedback(PictureLossIndication(sender_ssrc=1, media_ssrc=2))
    tell(made, Action.LTRP, Reason.RPSI)
    encode(made, 1, result=frame(1, dependencies=(0,)))
    encode(made, 2, result=frame(2, ltr_slot=5))
    tell(made, Action.KEY, Reason.PLI_AGAIN)
    encode(made, 3, key=True, result=frame(3, key=True))
    assert [f.ltrp for f in made.frames] == [False, True, False, False]
    assert [f.ltr for f in made.frames] == [True, False, True, True]
    assert [event for event in events(made) if event[0] in ("key", "ltrp")] == [
        ("key", "start of the stream"),
        ("ltrp", "RPSI"),
        ("key", "PLI again"),
    ]


def test_a_key_frame_that_the_encoder_makes_by_itself_has_the_pictures_size_for_a_reason():
    made = recorder()
    encode(made, 0)
    tell(made, Action.KEY, Reason.CODEC)
    encode(made, 1, size=(32, 24), result=frame(1, key=True))
    assert [reason for event, reason in events(made) if event == "key"][1] == "picture size"


def test_layers_fec_and_held_answers_are_logged_with_their_values():
    made = recorder()
    for action, value in ((Action.LAYERS, 2), (Action.FEC, 50), (Action.HOLD, 77)):
        tell(made, action, Reason.LOSS_RATIO, value=value)
    log = made.decisions._events.events
    assert [(e["event"], e["value"]) for e in log] == [("layers", 2), ("fec", 50), ("hold", 77)]
    assert {e["reason"] for e in log} == {"loss ratio"}


def test_what_the_receiver_asks_for_is_counted_and_logged():
    made = recorder()
    asks = [
        Nack(sender_ssrc=1, media_ssrc=2, lost=(5,)),
        ReferencePictureSelection(sender_ssrc=1, media_ssrc=2, payload_type=103, frame_id=9),
        LtrAcknowledgement(sender_ssrc=1, media_ssrc=2, frame_ids=(9,)),
        PictureLossIndication(sender_ssrc=1, media_ssrc=2),
    ]
    for ask in asks[:2], asks[1:]:
        made.asked(serialize_rtcp(ask), now_us=1)
    assert [event for event, _ in events(made)] == ["nack", "rpsi", "rpsi", "ltr ack", "pli"]
    assert made.requests[ReferencePictureSelection] == 2
    assert made.requests[PictureLossIndication] == made.requests[Nack] == 1


def test_packets_find_their_frames_across_a_wrap_of_the_timestamp():
    made = recorder()
    for index in range(3):
        encode(made, index)
        made.sent(media(index, 65_535 + index & 0xFFFF).serialize(), ARRIVES, now_us=0)
    assert [p.frame_index for p in made.packets] == [0, 1, 2]
    assert [f.packets for f in made.frames] == [1, 1, 1]


def test_recovery_lasts_from_the_first_lost_packet_to_the_next_later_picture():
    made = recorder()
    for index in range(4):
        encode(made, index)
    made.sent(media(1, 11).serialize(), Lost(LossReason.LOSS), now_us=41_000)
    made.sent(media(2, 12).serialize(), Lost(LossReason.QUEUE), now_us=81_000)
    made.decoded(receive(made, 1, now_us=140_000), failed=False, now_us=141_000)
    made.decoded(receive(made, 2, now_us=150_000), failed=True, now_us=151_000)
    made.decoded(receive(made, 3, now_us=190_000), failed=False, now_us=191_000)
    assert made.recoveries_us == [150_000]
    assert [f.packets_lost for f in made.frames] == [0, 1, 1, 0]
    made.sent(media(3, 13).serialize(), Lost(LossReason.LOSS), now_us=200_000)
    made.finish(900_000)
    assert made.recoveries_us == [150_000, 700_000]


def test_fec_recovered_what_was_lost_and_not_repeated_in_time():
    made = recorder()
    encode(made, 0)
    packets = [media(0, number) for number in range(4)]
    for packet in packets[:3]:
        made.sent(packet.serialize(), Lost(LossReason.LOSS), now_us=0)
    made.sent(packets[3].serialize(), ARRIVES, now_us=0)
    made.sent(media(0, 9, payload_type=FEC_PAYLOAD_TYPE).serialize(), ARRIVES, now_us=0)
    made.feedback(Nack(sender_ssrc=1, media_ssrc=2, lost=(0, 1)))
    for packet, arrival_us in ((packets[0], 80_000), (packets[1], 120_000)):
        again = wrap_rtx(packet, payload_type=AV1.rtx_payload_type, ssrc=2, sequence_number=7)
        made.sent(again.serialize(), Delivered(arrival_us, 0), now_us=10_000)
    receive(made, 0, now_us=100_000)
    # One came again in time, one too late, one never.
    assert made.fec_recovered == 2
    assert made.payload_bytes[PacketKind.FEC] == 100
    assert made.payload_bytes[PacketKind.RTX] == 204
    assert [p.sequence for p in made.packets if p.kind is PacketKind.RTX] == [0, 1]


def test_what_was_lost_and_comes_again_unasked_is_no_padding():
    made = recorder()
    encode(made, 0)
    packet = media(0, 5)
    made.sent(packet.serialize(), Lost(LossReason.LOSS), now_us=0)
    again = wrap_rtx(packet, payload_type=AV1.rtx_payload_type, ssrc=2, sequence_number=7)
    for now_us in (10_000, 20_000):
        made.sent(again.serialize(), ARRIVES, now_us=now_us)
    assert [p.kind for p in made.packets[1:]] == [PacketKind.RTX, PacketKind.PADDING]


def test_what_nobody_asked_for_is_padding():
    made = recorder()
    encode(made, 0)
    packet = media(0, 5)
    made.sent(packet.serialize(), ARRIVES, now_us=0)
    again = wrap_rtx(packet, payload_type=AV1.rtx_payload_type, ssrc=2, sequence_number=7)
    made.sent(again.serialize(), ARRIVES, now_us=10_000)
    made.feedback(Nack(sender_ssrc=1, media_ssrc=2, lost=(5,)))
    made.sent(again.serialize(), ARRIVES, now_us=20_000)
    made.sent(again.serialize(), ARRIVES, now_us=30_000)
    kinds = [PacketKind.MEDIA, PacketKind.PADDING, PacketKind.RTX, PacketKind.PADDING]
    assert [p.kind for p in made.packets] == kinds
    assert made.payload_bytes[PacketKind.RTX] == 102
    assert made.payload_bytes[PacketKind.PADDING] == 204
    assert made.frames[0].packets == 1


def test_the_screen_is_told_capture_times_of_the_run():
    made = recorder()
    for index in range(3):
        encode(made, index)
        received = receive(made, index, now_us=index * FRAME_US + 50_000)
        made.shown(received, picture(0), sound_latency_us=None, now_us=index * FRAME_US + 60_000)
    made.finish(1_000_000)
    assert list(made.screen.latencies_us) == [60_000] * 3
    assert [f.on_screen for f in made.frames] == [0, 1, 2]
    assert all(f.psnr_y == 100 for f in made.frames)


def test_a_picture_replaced_while_the_pacer_was_full_says_nothing_of_the_encoder():
    made = recorder()
    for index in range(4):
        made.captured(picture(index * FRAME_US), now_us=index * FRAME_US)
        made.taken(picture(index * FRAME_US))
        if index == 1:  # the encoder takes this one, and keeps it beyond the end
            made.encoding(job(index), now_us=index * FRAME_US)
    made.finish(4 * FRAME_US)
    assert [f.skipped for f in made.frames] == [
        "pacer full",
        "encoder busy",
        "encoder busy",
        "the end",
    ]


def test_what_a_frame_was_encoded_with_is_kept():
    made = recorder()
    encode(made, 0, preset="low")
    (record,) = made.frames
    assert (record.preset, record.scale, record.every) == ("low", 1, 1)


def test_switches_are_counted_by_what_they_change():
    made = recorder()
    encode(made, 0)
    encode(made, 1, preset="low")
    encode(made, 2, codec=Codec.H264)
    encode(made, 3, preset="low")
    decisions = made.decisions
    assert (decisions.codec_switches, decisions.preset_switches) == (2, 1)
    assert [event for event, _ in events(made) if event in ("codec", "preset")] == [
        "preset",
        "codec",
        "codec",
    ]
