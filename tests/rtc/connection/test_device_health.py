"""What the machine tells of itself; every signal may be missing or nonsense."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from codecpilot.rtc.adaptation.health import DeviceHealth
from codecpilot.rtc.connection import devices
from codecpilot.rtc.connection.device_health import DeviceMeter
from codecpilot.rtc.connection.devices import Devices

from tests.live_call import eventually

PRESSURE = "some avg10=12.34 avg60=0.51 avg300=1.64 total=10774630012\nfull avg10=0.00 total=0\n"


def _times(*, user: float, idle: float, guest: float = 0.0) -> Any:
    """As on Linux: a guest's time is part of user's."""

    class Times(tuple[float, ...]):
        pass

    times = Times((user, idle, guest))
    for name, value in (("user", user), ("idle", idle), ("guest", guest)):
        setattr(times, name, value)
    return times


def _set(monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    monkeypatch.setattr(psutil, name, lambda: value, raising=False)


def test_this_machine_can_be_read() -> None:
    health = DeviceMeter().read(now_us=7)
    assert health.time_us == 7
    for ratio in (health.cpu_ratio, health.cpu_pressure_ratio, health.battery_ratio):
        assert ratio is None or 0 <= ratio <= 1
    assert health.has_hardware_av1 is False


def test_a_laptop_tells_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text(PRESSURE)
    _set(monkeypatch, "cpu_times", _times(user=100.0, idle=300.0, guest=40.0))
    battery = SimpleNamespace(percent=17.5, power_plugged=False)
    _set(monkeypatch, "sensors_battery", battery)
    _set(monkeypatch, "cpu_freq", SimpleNamespace(current=1200.0, min=800.0, max=4800.0))
    hot = [SimpleNamespace(current=71.0), SimpleNamespace(current=88.5)]
    disk = [SimpleNamespace(current=99.0)]
    _set(monkeypatch, "sensors_temperatures", {"coretemp": hot, "nvme": disk})
    meter = DeviceMeter(pressure_path=tmp_path / "cpu")
    _set(monkeypatch, "cpu_times", _times(user=101.0, idle=303.0, guest=40.5))
    assert meter.read(now_us=5) == DeviceHealth(
        time_us=5,
        cpu_ratio=0.25,
        cpu_pressure_ratio=pytest.approx(0.1234),
        battery_ratio=pytest.approx(0.175),
        on_power=False,
        frequency_ratio=0.25,
        temperature_c=88.5,
        has_hardware_av1=False,
    )


def test_the_processor_is_measured_from_reading_to_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, "cpu_times", _times(user=0.0, idle=0.0))
    meter = DeviceMeter()
    ratios = []
    for user, idle in ((1.0, 1.0), (2.0, 1.0), (2.0, 1.0), (2.0, 2.0)):
        _set(monkeypatch, "cpu_times", _times(user=user, idle=idle))
        ratios.append(meter.read(now_us=0).cpu_ratio)
    assert ratios == [0.5, 1.0, None, 0.0]


@pytest.mark.parametrize(
    "error", [AttributeError("not here"), OSError("no"), KeyError("x"), ZeroDivisionError()]
)
def test_what_a_machine_does_not_tell_is_none(
    error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail() -> None:
        raise error

    for name in ("cpu_times", "sensors_battery", "cpu_freq", "sensors_temperatures"):
        monkeypatch.setattr(psutil, name, fail, raising=False)
    health = DeviceMeter(pressure_path=tmp_path / "none").read(now_us=3)
    assert health == DeviceHealth(time_us=3, has_hardware_av1=False)


def test_nonsense_is_none_or_clamped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text("some avg10=nan\n")
    _set(monkeypatch, "sensors_battery", SimpleNamespace(percent=250, power_plugged=None))
    _set(monkeypatch, "cpu_freq", SimpleNamespace(current=1200.0, min=0.0, max=0.0))
    cold = [SimpleNamespace(current=-273.0), SimpleNamespace(current=None)]
    _set(monkeypatch, "sensors_temperatures", {"coretemp": cold})
    health = DeviceMeter(pressure_path=tmp_path / "cpu").read(now_us=3)
    assert health.cpu_pressure_ratio is None
    assert (health.battery_ratio, health.on_power) == (1.0, None)
    assert (health.frequency_ratio, health.temperature_c) == (None, None)


async def test_readings_are_shared_and_end_with_the_last_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "HEALTH_PERIOD_S", 0.01)
    shared, first, second = Devices(), [], []
    shared.subscribe(first.append)
    shared.subscribe(second.append)
    await eventually(lambda: len(first) > 2 and len(second) > 2, "both are told")
    assert first == second
    shared.unsubscribe(second.append)
    shared.unsubscribe(first.append)
    await asyncio.sleep(0)
    count = len(first)
    await asyncio.sleep(0.05)
    assert len(first) == count


async def test_a_reader_that_fails_ends_no_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "HEALTH_PERIOD_S", 0.01)
    shared, told = Devices(), []

    def refuse(health: DeviceHealth) -> None:
        raise ValueError

    shared.subscribe(refuse)
    shared.subscribe(told.append)
    await eventually(lambda: len(told) > 2, "the other is told")
    shared.unsubscribe(refuse)
    shared.unsubscribe(told.append)
