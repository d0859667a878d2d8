"""A walk: rates of twelve devices that are carried past a base station, as a trace that is made here.

Everybody walks to and fro on a line of their own, at a pace of their own, for ten minutes. The rate is that
of 180 kHz at the SNR of the instant, by a power law of the distance; below -10 dB there is no link. All
numbers are without source. No draw is made, so the file is the same wherever it is written:

    python -m scenarios.walk   # writes scenarios/walk.csv
"""

from pathlib import Path

import numpy as np
import pandas as pd

FILE = Path(__file__).with_name("walk.csv")
NUM_DEVICES = 12
LASTS_S, STEP_S = 600, 5
BAND_HZ = 180e3
SNR_AT_100_M_DB, LOSS_EXPONENT, LEAST_SNR_DB = 6.0, 3.5, -10.0


def walk() -> pd.DataFrame:
    """Rows of time_s, device and rate_bps, whole numbers."""
    device, time_s = np.meshgrid(np.arange(NUM_DEVICES), np.arange(0, LASTS_S, STEP_S), indexing="ij")
    pace_m_per_s, half_way_m = 0.8 + 0.1 * device, 150.0 + 25.0 * device
    turn = (pace_m_per_s * time_s / half_way_m + 0.37 * device) % 4.0
    along_m = half_way_m * (np.abs(turn - 2.0) - 1.0)
    distance_m = np.hypot(along_m, 30.0 + 5.0 * device)
    snr_db = SNR_AT_100_M_DB - 10.0 * LOSS_EXPONENT * np.log10(distance_m / 100.0)
    rate_bps = np.where(snr_db < LEAST_SNR_DB, 0.0, BAND_HZ * np.log2(1.0 + 10.0 ** (snr_db / 10.0)))
    columns = {"time_s": time_s, "device": device, "rate_bps": np.round(rate_bps).astype(int)}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


if __name__ == "__main__":
    walk().to_csv(FILE, index=False)
    print(f"Written: {FILE}")
