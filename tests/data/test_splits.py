"""Splits: nothing lost, nothing doubled, and label counts that follow the distributions of the papers."""

import numpy as np
import pytest
from fixtures.fixes import has_fix
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, kstest, t

from cosim import ConfigurationError, Simulation
from cosim.data import CellIid, Dirichlet, Iid, Shards
from cosim.data.dataset import Dataset

HIST_LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 6000))
HIST_CELLS = [20, 20, 20]
SPLITS = (Shards, CellIid, Dirichlet, Iid)


def rng(seed=0):
    return np.random.default_rng(seed)


def dataset_of(labels):
    """Samples of which the labels alone are told."""
    labels = np.asarray(labels, np.int64)
    x = np.zeros((len(labels), 1), np.float32)
    num_classes = labels.max() + 1
    return Dataset(
        name="own", train_x=x, train_y=labels, test_x=x[:1], test_y=labels[:1], num_classes=num_classes
    )


def deal(split, labels, cell_sizes, seed=0):
    """Samples that the clients of a run are dealt."""
    return split.deal(Simulation(seed), dataset_of(labels), cell_sizes)


def histograms(labels, parts, num_classes=10):
    """Label counts, shape (parts, classes)."""
    return np.stack([np.bincount(labels[part], minlength=num_classes) for part in parts])


def cells_of(clients, cell_sizes):
    ends = np.cumsum(cell_sizes)
    return [np.concatenate(clients[end - size : end]) for end, size in zip(ends, cell_sizes, strict=True)]


def interval(values, confidence=0.999):
    """Of the mean of independent values."""
    half = t.ppf((1 + confidence) / 2, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return np.mean(values) - half, np.mean(values) + half


def chi_square_p_value(counts):
    """Of the hypothesis that rows of a table of counts differ by chance only."""
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    degrees_of_freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), degrees_of_freedom))


def inside(value, values):
    low, high = interval(values)
    return low < value < high


# --- laws ---


@st.composite
def problems(draw):
    cell_sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    shards_per_client = draw(st.integers(1, 3))
    num_samples = draw(st.integers(sum(cell_sizes) * shards_per_client, 300))
    num_classes = draw(st.integers(1, 12))
    labels = rng(draw(st.integers(0, 999))).integers(num_classes, size=num_samples)
    alpha = draw(st.sampled_from([1e-9, 0.01, 0.5, 1.0, 100.0, 1e6]))
    return labels, cell_sizes, shards_per_client, alpha


@pytest.mark.parametrize("split", SPLITS)
@settings(max_examples=150)
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_every_sample_goes_to_exactly_one_client(split, problem, seed):
    labels, cell_sizes, shards_per_client, alpha = problem
    before = labels.copy()
    knobs = {Shards: {"per_client": shards_per_client}, Dirichlet: {"alpha": alpha}}
    knobs[CellIid] = knobs[Shards]
    one = split(**knobs.get(split, {}))
    clients = deal(one, labels, cell_sizes, seed)
    assert len(clients) == sum(cell_sizes)
    assert sorted(np.concatenate(clients)) == list(range(len(labels)))
    for samples in clients:
        assert samples.dtype == np.int64
        assert len(samples) >= 1
        assert (np.diff(samples) > 0).all()
    assert (labels == before).all()
    again = deal(one, labels, cell_sizes, seed)
    assert all((a == b).all() for a, b in zip(clients, again, strict=True))

    sizes = np.array([len(samples) for samples in clients])
    if split is Iid:
        assert np.ptp(sizes) <= 1
    if split is Shards:
        shard = len(labels) // (len(clients) * shards_per_client)
        assert sizes.min() >= shards_per_client * shard
        assert sizes.max() <= shards_per_client * (shard + 1)
    if split is CellIid:
        in_cells = [len(samples) for samples in cells_of(clients, cell_sizes)]
        fair = np.array(cell_sizes) * len(labels) / sum(cell_sizes)
        assert (np.abs(in_cells - fair) < 1).all()
        per_cell = zip(np.split(sizes, np.cumsum(cell_sizes)[:-1]), in_cells, cell_sizes, strict=True)
        for client_sizes, cell_samples, num_clients in per_cell:
            shard = cell_samples // (num_clients * shards_per_client)
            assert client_sizes.min() >= shards_per_client * shard
            assert client_sizes.max() <= shards_per_client * (shard + 1)


@settings(max_examples=100)
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_shards_are_runs_of_the_sorted_row(problem, seed):
    """A client's samples are whole runs, of equal length to within one, of the samples sorted by label."""
    labels, cell_sizes, shards_per_client, _ = problem
    clients = deal(Shards(per_client=shards_per_client), labels, cell_sizes, seed)
    holder = np.empty(len(labels), dtype=int)
    for client, samples in enumerate(clients):
        holder[samples] = client
    row = holder[np.lexsort((np.arange(len(labels)), labels))]
    num_shards = len(clients) * shards_per_client
    small, num_large = divmod(len(labels), num_shards)
    ends = np.cumsum([small + (shard < num_large) for shard in range(num_shards)])
    hands = [set(shard) for shard in np.split(row, ends[:-1])]
    assert all(len(hand) == 1 for hand in hands)
    assert sorted(client for hand in hands for client in hand) == sorted(
        [*range(len(clients))] * shards_per_client
    )


@pytest.mark.parametrize("split", SPLITS)
def test_another_seed_gives_another_partition(split):
    labels = HIST_LABELS[:600]
    first, second = (deal(split(), labels, [10, 10], seed) for seed in (1, 2))
    assert any(list(a) != list(b) for a, b in zip(first, second, strict=True))


# --- shards: HIST conference paper, Section V-A, case (i) ---


def test_shards_of_the_hist_paper():
    clients = deal(Shards(), HIST_LABELS, HIST_CELLS)
    counts = histograms(HIST_LABELS, clients)
    assert {len(samples) for samples in clients} == {1000}
    assert set(counts.ravel()) <= {0, 500, 1000}
    assert (counts > 0).sum(1).max() == 2


def test_shards_are_dealt_at_random():
    """120 shards, 12 of each label, two to a client: both of one label with probability 11 / 119.

    Dealing in order would give all 60 clients one label; drawing with replacement gives 1 / 10.
    """
    labels = np.repeat(np.arange(10), 60)
    single, first_mean = [], []
    for seed in range(2000):
        clients = deal(Shards(), labels, HIST_CELLS, seed)
        single.append(((histograms(labels, clients) > 0).sum(1) == 1).mean())
        first_mean.append(clients[0].mean())
    assert inside(11 / 119, single)
    assert not inside(1 / 10, single)
    assert inside(599 / 2, first_mean)


# --- cell-iid: case (ii) ---


def label_p_values(split, cell_sizes, of_cells, num_runs=300):
    """P values of the hypothesis that labels fall on cells or clients as in a uniformly random split."""
    labels = np.repeat(np.arange(5), 120)
    p_values = []
    for seed in range(num_runs):
        clients = deal(split, labels, cell_sizes, seed)
        parts = cells_of(clients, cell_sizes) if of_cells else clients
        p_values.append(chi_square_p_value(histograms(labels, parts, 5)))
    return p_values


def test_cells_of_cell_iid_are_uniform_draws_but_clients_are_not():
    """P values are uniform over cells: neither too uneven ("shards") nor too even (a stratified split)."""
    cells = [3, 5, 7]
    assert kstest(label_p_values(CellIid(), cells, of_cells=True), "uniform").pvalue > 0.001
    assert max(label_p_values(CellIid(), cells, of_cells=False)) < 1e-50
    assert kstest(label_p_values(Shards(), cells, of_cells=True), "uniform").pvalue < 1e-20


def test_cell_iid_of_the_hist_paper():
    clients = deal(CellIid(), HIST_LABELS, HIST_CELLS)
    cells = histograms(HIST_LABELS, cells_of(clients, HIST_CELLS))
    assert {len(samples) for samples in clients} == {1000}
    assert 0.0005 < chi_square_p_value(cells) < 0.9995
    # shards of 500 from runs of about 2000 +- 36: each holds at most two labels
    assert (histograms(HIST_LABELS, clients) > 0).sum(1).max() <= 4


# --- iid ---


def test_iid_clients_are_uniform_draws():
    assert kstest(label_p_values(Iid(), [3, 5, 7], of_cells=False), "uniform").pvalue > 0.001
    clients = deal(Iid(), HIST_LABELS, HIST_CELLS)
    assert 0.0005 < chi_square_p_value(histograms(HIST_LABELS, clients)) < 0.9995


# --- dirichlet ---


def shares(alpha, num_runs=400, num_clients=5):
    """Shares of two labels over clients, shape (runs, clients, 2); 2,000 samples of each label."""
    labels = np.tile([0, 1], 2000)
    runs = (deal(Dirichlet(alpha=alpha), labels, [2, num_clients - 2], seed) for seed in range(num_runs))
    return np.stack([histograms(labels, clients, 2) for clients in runs]) / 2000


@pytest.mark.parametrize("alpha", [0.2, 1.0, 10.0])
def test_dirichlet_shares_have_its_moments(alpha):
    """Mean 1 / K, variance (1 / K) (1 - 1 / K) / (K alpha + 1), labels independent; other alphas fail."""
    found, num_clients = shares(alpha), 5
    for client in range(num_clients):
        assert inside(1 / num_clients, found[:, client, 0])
    deviations = found - 1 / num_clients
    variances = (deviations**2).mean(1).ravel()

    def variance(concentration):
        return (1 / num_clients) * (1 - 1 / num_clients) / (num_clients * concentration + 1)

    assert inside(variance(alpha), variances)
    assert not inside(variance(1.4 * alpha), variances)
    assert not inside(variance(alpha / 1.4), variances)
    assert inside(0.0, deviations.prod(2).mean(1))


def test_dirichlet_deals_the_samples_of_a_label_at_random():
    """First samples of a label do not go to first clients: holder and position are uncorrelated."""
    correlations = []
    for seed in range(300):
        clients = deal(Dirichlet(alpha=5.0), np.zeros(200, int), [4], seed)
        holder = np.empty(200)
        for client, samples in enumerate(clients):
            holder[samples] = client
        correlations.append(np.corrcoef(holder, np.arange(200))[0, 1])
    assert inside(0.0, correlations)


def test_dirichlet_leaves_nobody_without_samples():
    """Two labels at a tiny concentration: two clients have nearly all, the others exactly one sample."""
    labels = np.repeat([0, 1], 100)
    for seed in range(20):
        clients = deal(Dirichlet(alpha=1e-6), labels, [30], seed)
        sizes = sorted(len(samples) for samples in clients)
        assert sizes[:28] == [1] * 28
        assert sum(sizes) == 200


# --- errors ---


@pytest.mark.parametrize(
    ("split", "num_samples", "complaint"),
    [
        (Iid(), 9, r"9 samples of 'own' cannot be dealt to 10 clients: "),
        (Dirichlet(), 9, r"9 samples of 'own' cannot be dealt to 10 clients: "),
        (
            Shards(),
            19,
            r"19 samples of 'own' cannot be dealt to 10 clients x 2 shards per client = 20 shards",
        ),
        (CellIid(), 19, r"10 clients x 2 shards per client = 20 shards"),
    ],
)
def test_nobody_is_left_without_a_sample(split, num_samples, complaint):
    deal(split, range(num_samples + 1), [5, 5])
    with pytest.raises(ConfigurationError, match=complaint) as refused:
        deal(split, range(num_samples), [5, 5])
    assert has_fix(str(refused.value))


@pytest.mark.parametrize(
    ("kind", "knob", "value", "complaint"),
    [
        (Shards, "per_client", 0, r"Shards\.per_client = 0: must be at least 1"),
        (CellIid, "per_client", 0, r"CellIid\.per_client = 0: must be at least 1"),
        (Dirichlet, "alpha", 0.0, r"Dirichlet\.alpha = 0: must be above 0"),
        (Dirichlet, "alpha", float("nan"), r"Dirichlet\.alpha = nan"),
        (Dirichlet, "alpha", 1e300, r"Dirichlet\.alpha = 1e\+300: .* at most 1e\+06"),
    ],
)
def test_knobs_out_of_range_are_refused(kind, knob, value, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        kind(**{knob: value})
