"""Warm processes: code to begin with, for a process from which others are forked that play something.

They share its imports and nothing else: it starts no thread, draws no number and reads no file of ours.
"""

IMPORTS = """
import matplotlib.backends.backend_agg, matplotlib.pyplot, networkx, sklearn.datasets, torch
import analysis.intervals.batch_means, analysis.plots, analysis.studies, cosim.learning.learner
import cosim.learning.network.named, cosim.learning.programs.sgd, cosim.running, cosim.studies.study
import cosim.testing, models, scenarios.quickstart
torch.func.vmap(torch.func.grad(torch.sum))(torch.ones(1, 1))  # imports as much again
"""
