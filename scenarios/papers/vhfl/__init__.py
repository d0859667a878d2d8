"""VHFL: vertical-horizontal federated learning."""

from scenarios.papers.vhfl.traffic.cell_traffic import CellTraffic
from scenarios.papers.vhfl.traffic.traffic import Traffic
from scenarios.papers.vhfl.traffic.traffic_csv import TrafficCsv
from scenarios.papers.vhfl.vertical import VerticalSgd
from scenarios.papers.vhfl.vfl import Vfl
from scenarios.papers.vhfl.vhfl import Vhfl

__all__ = ["CellTraffic", "Traffic", "TrafficCsv", "VerticalSgd", "Vfl", "Vhfl"]
