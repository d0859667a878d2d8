"""Rounds: what an edge round is, how it runs, and what becomes of each of its clients.

`edge_round` says what a round is and what became of it; `by_events` and `on_arrays` run it, with the same
times, energies and outcomes; `cosim.engine.run.clock` says which of them a run has. What happens is told to
the run's recorder (`cosim.recording.recorder`).
"""
