"""What this machine is, as telemetry has it: product names, and nothing that identifies one machine."""

from __future__ import annotations

import platform
from pathlib import Path

import psutil
import pytest

from codecpilot.eligibility.schema import COLUMNS, DEVICE, empty_row, table_of
from codecpilot.samples import this_device
from codecpilot.samples.this_device import MEMORY_STEP_BYTES, device_columns

DMI = "sys/class/dmi/id"
CPUINFO = "proc/cpuinfo"
INTEL = "processor\t: 0\nmodel name\t: Intel(R) Core(TM) i7-1185G7 CPU @ 3.00GHz\nflags\t: sse\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-18-builtby-jane@desk")
    return tmp_path


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_pc_is_called_what_its_firmware_says(root: Path):
    write(
        root,
        {
            f"{DMI}/sys_vendor": "Dell Inc.\n",
            f"{DMI}/product_name": "XPS 13 9310\n",
            f"{DMI}/product_serial": "SECRET1\n",
            f"{DMI}/product_uuid": "SECRET2\n",
            CPUINFO: INTEL,
        },
    )
    told = device_columns(root=root)

    assert (told["device_brand"], told["device_model"]) == ("dell", "XPS 13 9310")
    assert (told["soc"], told["os"], told["os_version"]) == (
        "Intel Core i7-1185G7",
        "linux",
        "6.1.0",
    )
    assert "SECRET" not in repr(told)


def test_lenovo_has_its_names_elsewhere(root: Path):
    names = {"sys_vendor": "LENOVO", "product_name": "20XW00ABUS", "product_version": "ThinkPad X1"}
    write(root, {f"{DMI}/{name}": text for name, text in names.items()})
    told = device_columns(root=root)

    assert (told["device_brand"], told["device_model"]) == ("lenovo", "ThinkPad X1")


def test_a_board_is_called_what_its_device_tree_says(root: Path):
    write(
        root,
        {
            "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0",
            "proc/device-tree/compatible": "raspberrypi,4-model-b\0brcm,bcm2711\0",
            "proc/device-tree/serial-number": "SECRET\0",
            CPUINFO: "processor\t: 0\nSerial\t: SECRET\n",
        },
    )
    told = device_columns(root=root)

    assert told["device_brand"] == "raspberrypi"
    assert (told["device_model"], told["soc"]) == ("Raspberry Pi 4 Model B Rev 1.4", "bcm2711")
    assert "SECRET" not in repr(told)


@pytest.mark.parametrize("nothing", ["To Be Filled By O.E.M.", "System Product Name", "0000", ""])
def test_a_machine_without_a_name_goes_by_its_processor(root: Path, nothing: str):
    files = {f"{DMI}/sys_vendor": nothing, f"{DMI}/product_name": nothing, CPUINFO: INTEL}
    write(root, files)
    told = device_columns(root=root)

    assert told["device_brand"] is None
    assert told["device_model"] == told["soc"] == "Intel Core i7-1185G7"


def test_names_are_cut_to_what_the_schema_takes(root: Path):
    write(root, {f"{DMI}/product_name": "http://10.0.0.1:80/?q=é " + "long " * 40})
    told = device_columns(root=root)
    row = empty_row() | told | {"call_id": "0" * 8, "side": "a", "interval_index": 0}

    table_of([row | {"time_us": 0, "source": "call"}])
    assert len(str(told["device_model"])) <= 64


def test_a_mac_names_itself(monkeypatch):
    told = {"hw.model": "MacBookPro18,3", "machdep.cpu.brand_string": "Apple M1 Pro"}
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "mac_ver", lambda: ("14.5", ("", "", ""), "arm64"))
    monkeypatch.setattr(this_device, "_sysctl", told.__getitem__)
    columns = device_columns()

    assert [columns[n] for n in ("device_brand", "device_model", "soc", "os", "os_version")] == [
        *("apple", "MacBookPro18,3", "Apple M1 Pro", "macos", "14.5")
    ]


def test_this_machine_is_described_without_its_name_and_its_exact_memory():
    told = device_columns()

    assert list(told) == [column.name for column in DEVICE]
    assert isinstance(told["memory_bytes"], int)
    assert told["memory_bytes"] % MEMORY_STEP_BYTES == 0
    assert abs(told["memory_bytes"] - psutil.virtual_memory().total) <= MEMORY_STEP_BYTES // 2
    assert isinstance(told["cores"], int)
    assert COLUMNS["cores"].least <= told["cores"] <= COLUMNS["cores"].most
    host = platform.node()
    assert len(host) < 4 or host not in repr(told)
