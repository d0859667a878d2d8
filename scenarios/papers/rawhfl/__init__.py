"""RawHFL: resource-aware hierarchical federated learning."""

from scenarios.papers.rawhfl.plans.initial_selections import EqualShares, InitialSelection, RandomSelection
from scenarios.papers.rawhfl.plans.port import CommonSteps, Policy, ResourceAware, Unconstrained
from scenarios.papers.rawhfl.plans.solvers import Algorithm2, ExactSolver, Solver
from scenarios.papers.rawhfl.raw_hfl import RawHfl
from scenarios.papers.rawhfl.videos.video_requests import VideoRequests

__all__ = [
    "Algorithm2",
    "CommonSteps",
    "EqualShares",
    "ExactSolver",
    "InitialSelection",
    "Policy",
    "RandomSelection",
    "RawHfl",
    "ResourceAware",
    "Solver",
    "Unconstrained",
    "VideoRequests",
]
