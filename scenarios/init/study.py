"""How many spare clients? Time and energy to 85 % accuracy, over five seeds."""

from analysis.studies import compared
from cosim import Study
from scenario import system

METRICS = ("time_s", "accuracy", "time_to_0.85_s", "energy_to_0.85_j")

if __name__ == "__main__":
    study = Study(system(), {"num_spare": (0, 4, 7)}, seeds=5, targets=(0.85,))
    runs = study.run("studies/spare", progress=True)
    for row in compared(runs, reference=0):
        if row.metric in METRICS:
            print(f"{row.name}, {row.metric}: {row.value}; difference: {row.difference or 'the reference'}")
