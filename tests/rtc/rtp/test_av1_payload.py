from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.obu import Obu, ObuType, read_obus, write_obus
from codecpilot.rtc.rtp.av1_payload import (
    MIN_PAYLOAD_BYTES,
    TEMPORAL_DELIMITER,
    assemble_av1,
    is_av1_key_start,
    packetize_av1,
)

SEQUENCE = Obu(type=ObuType.SEQUENCE_HEADER, payload=b"sequence")
TRAVELLING = (
    ObuType.SEQUENCE_HEADER,
    ObuType.FRAME_HEADER,
    ObuType.TILE_GROUP,
    ObuType.METADATA,
    ObuType.FRAME,
)
Z, Y, N = 0x80, 0x40, 0x08

obus = st.builds(
    Obu,
    type=st.sampled_from(TRAVELLING),
    payload=st.one_of(
        st.binary(max_size=5), st.integers(0, 900).map(lambda n: bytes(i & 0xFF for i in range(n)))
    ),
)
units = st.lists(obus, min_size=1, max_size=8)


def unit(*sizes: int) -> bytes:
    """A temporal unit of frame OBUs whose payloads have these sizes."""
    frames = [Obu(type=ObuType.FRAME, payload=bytes([i + 1]) * n) for i, n in enumerate(sizes)]
    return TEMPORAL_DELIMITER + write_obus(frames)


def packetize(data: bytes, limit: int, *, new_sequence: bool = False) -> list[bytes]:
    return packetize_av1(data, max_payload_bytes=limit, new_sequence=new_sequence)


@given(units, st.integers(MIN_PAYLOAD_BYTES, 1200), st.integers(MIN_PAYLOAD_BYTES, 1200))
def test_a_temporal_unit_survives_its_packets(content: list[Obu], limit: int, first: int) -> None:
    data = TEMPORAL_DELIMITER + write_obus(content)
    payloads = packetize_av1(
        data,
        max_payload_bytes=limit,
        new_sequence=content[0].type == ObuType.SEQUENCE_HEADER,
        first_max_payload_bytes=first,
    )
    assert assemble_av1(payloads) == data
    assert len(payloads[0]) <= first
    assert max(map(len, payloads)) <= max(limit, len(payloads[0]))
    starts_sequence = [is_av1_key_start(payload) for payload in payloads]
    assert starts_sequence[0] == (content[0].type == ObuType.SEQUENCE_HEADER)
    assert not any(starts_sequence[1:])


@given(st.integers(1, 20_000), st.integers(100, 1200))
def test_packets_are_as_few_as_possible_and_even(size: int, limit: int) -> None:
    payloads = packetize(unit(size), limit)
    obu_bytes = 1 + size  # a header without size
    assert len(payloads) == -(-obu_bytes // (limit - 1))
    lengths = [len(payload) for payload in payloads]
    assert max(lengths[:-1], default=0) - min(lengths) <= len(payloads)


def test_reserve_of_the_first_packet_evens_packets_with_their_extensions() -> None:
    payloads = packetize_av1(
        unit(3000), max_payload_bytes=1200, first_max_payload_bytes=1160, new_sequence=False
    )
    assert [len(payload) for payload in payloads] == [975, 1015, 1014]


def test_evening_never_goes_below_the_smallest_limits() -> None:
    # A first limit far above the others and many length fields make the mean size negative.
    payloads = packetize_av1(
        unit(*[0] * 11), max_payload_bytes=5, first_max_payload_bytes=20, new_sequence=False
    )
    assert [len(payload) for payload in payloads] == [19, 4]


def test_aggregation_header_bytes_as_chromium_sends_them() -> None:
    key = write_obus([SEQUENCE, Obu(type=ObuType.FRAME, payload=b"key")])
    assert packetize(key, 1200, new_sequence=True)[0][0] == 0x28
    assert packetize(unit(10), 1200)[0][0] == 0x10
    assert [payload[0] for payload in packetize(unit(2000), 800)] == [0x50, 0xD0, 0x90]


def test_sizes_leave_the_obus_and_come_back() -> None:
    (payload,) = packetize(unit(3), 1200)
    assert payload.hex() == "10" + "30" + "010101"
    assert assemble_av1([payload]).hex() == "1200" + "3203" + "010101"


def test_up_to_three_elements_omit_the_last_length_and_four_omit_none() -> None:
    assert packetize(unit(1, 1, 1), 100)[0].hex() == "30" + "023001" + "023002" + "3003"
    assert packetize(unit(1, 1, 1, 1), 100)[0].hex() == (
        "00" + "023001" + "023002" + "023003" + "023004"
    )


def test_an_obu_of_which_nothing_fits_starts_the_next_packet_without_fragmenting() -> None:
    payloads = packetize(unit(8, 8), 11)
    assert [payload[0] & (Z | Y) for payload in payloads] == [0, 0]


def test_temporal_delimiter_tile_list_and_padding_stay_home() -> None:
    frame = Obu(type=ObuType.FRAME, payload=b"frame")
    unsent = [Obu(type=t, payload=b"x") for t in (ObuType.TILE_LIST, ObuType.PADDING)]
    (payload,) = packetize(TEMPORAL_DELIMITER + write_obus([unsent[0], frame, unsent[1]]), 100)
    assert payload == b"\x10\x30frame"


def test_unsent_types_from_a_peer_are_dropped() -> None:
    assert assemble_av1([bytes.fromhex("30" + "0110" + "03" + "780000" + "3005")]).hex() == (
        "1200" + "320105"
    )


def test_obu_that_arrives_with_its_size_field_is_accepted() -> None:
    assert assemble_av1([bytes.fromhex("10" + "3202aabb")]).hex() == "1200" + "3202aabb"


def test_fragment_that_ends_inside_a_size_field_is_judged_after_reassembly() -> None:
    size_200 = "c801"
    payloads = [bytes.fromhex("50" + "32" + size_200[:2]), bytes.fromhex("9001") + bytes(200)]
    assert assemble_av1(payloads) == TEMPORAL_DELIMITER + bytes.fromhex("32c801") + bytes(200)


def test_layer_of_an_extension_byte_is_kept() -> None:
    layered = Obu(type=ObuType.FRAME, payload=b"x", temporal_id=1, spatial_id=0)
    data = TEMPORAL_DELIMITER + write_obus([layered])
    (payload,) = packetize(data, 100)
    assert payload.hex() == "10" + "3420" + "78"
    assert list(read_obus(assemble_av1([payload])))[1] == layered


@pytest.mark.parametrize(
    "payloads",
    [
        [],
        [""],
        ["10"],  # no element
        ["9030"],  # Z on the first packet
        ["5030"],  # Y on the last
        ["5030", "1001"],  # Y without Z
        ["1030", "9001"],  # Z without Y
        ["98"],
        ["9830"],  # N with Z
        ["1030", "1830"],  # N inside a temporal unit
        ["2001"],  # W announces two elements, the first has no bytes
        ["200130"],  # W announces two, one came
        ["00"],
        ["0000"],  # an empty element
        ["0002"],  # an element cut off
        ["00ff"],  # leb128 cut off
        ["00ffffffffffffffffff01"],  # leb128 over 8 bytes
        ["0080808080803f30"],  # leb128 over 32 bits
        ["10b0"],  # forbidden bit
        ["1034"],  # extension byte missing
        ["103205aa"],  # size larger than what came
        ["103200aa"],  # size smaller than what came
        ["1032"],  # size missing
        ["1010"],  # a temporal delimiter alone
    ],
)
def test_violations_are_remote_errors(payloads: list[str]) -> None:
    with pytest.raises(RemoteError):
        assemble_av1([bytes.fromhex(payload) for payload in payloads])


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_random_payloads_assemble_or_raise_remote_error(payloads: list[bytes]) -> None:
    try:
        assemble_av1(payloads)
    except RemoteError:
        return


@given(units, st.integers(10, 300), st.data())
def test_damaged_payloads_assemble_or_raise_remote_error(
    content: list[Obu], limit: int, data: st.DataObject
) -> None:
    payloads = [bytearray(p) for p in packetize(write_obus(content), limit)]
    damage = data.draw(st.sampled_from(["flip", "cut", "drop", "swap", "double"]))
    index = data.draw(st.integers(0, len(payloads) - 1))
    position = data.draw(st.integers(0, min(len(payloads[index]), 20) - 1))
    if damage == "flip":
        payloads[index][position] ^= 1 << data.draw(st.integers(0, 7))
    elif damage == "cut":
        del payloads[index][position:]
    elif damage == "drop":
        del payloads[index]
    elif damage == "swap":
        payloads[index], payloads[-1] = payloads[-1], payloads[index]
    else:
        payloads.insert(index, payloads[index])
    try:
        assemble_av1([bytes(payload) for payload in payloads])
    except RemoteError:
        return


@given(st.binary(max_size=60), st.integers(MIN_PAYLOAD_BYTES, 50))
def test_random_temporal_units_packetize_or_raise_remote_error(data: bytes, limit: int) -> None:
    try:
        assert assemble_av1(packetize(data, limit)).startswith(TEMPORAL_DELIMITER)
    except RemoteError:
        return


def test_a_temporal_unit_with_nothing_to_send_is_a_remote_error() -> None:
    with pytest.raises(RemoteError):
        packetize(TEMPORAL_DELIMITER, 100)


def test_misuse_is_a_local_error() -> None:
    with pytest.raises(LocalError, match="1 and 1"):
        packetize(unit(1), 1)
    with pytest.raises(LocalError, match="sequence header"):
        packetize(unit(1), 100, new_sequence=True)


def test_an_empty_or_continuing_payload_starts_no_key_frame() -> None:
    assert not is_av1_key_start(b"")
    assert not is_av1_key_start(bytes((Z | N, 0)))
    assert is_av1_key_start(bytes((N, 0)))
