from cosim.devices.battery import Battery
from cosim.devices.column import Column
from cosim.devices.cycles import Cycles, CyclesPerBit, CyclesPerOperation, CyclesPerStep
from cosim.devices.device import Device, DeviceArrays
from cosim.devices.device_table import DeviceTable
from cosim.devices.drawn_devices import DrawnDevices
from cosim.devices.measured_steps import MeasuredSteps
from cosim.devices.mixture import Mixture
from cosim.devices.port import Devices
from cosim.devices.power_control import PowerControl
from cosim.devices.presence import OnOff, Presence
from cosim.devices.presence_windows import PresenceWindows
from cosim.devices.processor import Processor
from cosim.devices.training_time import (
    DrawnTime,
    ExponentialTime,
    HalfNormalTime,
    HyperExponentialTime,
    LogNormalTime,
    TrainingTime,
)
from cosim.devices.transmit_power import PowerRange, SamePower, TransmitPower

__all__ = [
    "Battery",
    "Column",
    "Cycles",
    "CyclesPerBit",
    "CyclesPerOperation",
    "CyclesPerStep",
    "Device",
    "DeviceArrays",
    "DeviceTable",
    "Devices",
    "DrawnDevices",
    "DrawnTime",
    "ExponentialTime",
    "HalfNormalTime",
    "HyperExponentialTime",
    "LogNormalTime",
    "MeasuredSteps",
    "Mixture",
    "OnOff",
    "PowerControl",
    "PowerRange",
    "Presence",
    "PresenceWindows",
    "Processor",
    "SamePower",
    "TrainingTime",
    "TransmitPower",
]
