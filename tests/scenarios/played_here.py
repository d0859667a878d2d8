"""Reproductions played in this process, in place of `play_all`: the same results, and nothing to start."""

import cosim


def played_here(figure, systems, options):
    """Results by label, one for each seed, in the folders where `play_all` has them."""
    return {
        label: [
            cosim.run(cosim.evolve(system, seed=seed), num_workers=1, data_dir=options.data_dir)
            for seed in options.every_seed
        ]
        for label, system in systems.items()
    }
