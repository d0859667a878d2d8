from cosim.papers.rawhfl.plans.port import CommonSteps, Policy, ResourceAware, Unconstrained
from cosim.papers.rawhfl.plans.solvers import Algorithm2, ExactSolver, Solver
from cosim.papers.rawhfl.raw_hfl import RawHfl
from cosim.papers.rawhfl.videos.video_requests import VideoRequests
from cosim.papers.vhfl.traffic.cell_traffic import CellTraffic
from cosim.papers.vhfl.traffic.traffic import Traffic
from cosim.papers.vhfl.traffic.traffic_csv import TrafficCsv
from cosim.papers.vhfl.vertical import VerticalSgd
from cosim.papers.vhfl.vhfl import Vhfl

__all__ = [
    "Algorithm2",
    "CellTraffic",
    "CommonSteps",
    "ExactSolver",
    "Policy",
    "RawHfl",
    "ResourceAware",
    "Solver",
    "Traffic",
    "TrafficCsv",
    "Unconstrained",
    "VerticalSgd",
    "Vhfl",
    "VideoRequests",
]
