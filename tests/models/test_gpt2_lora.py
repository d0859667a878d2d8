"""GPT-2 with adapters: its parts add up, only adapters are trained, and only sound weights are loaded."""

import copy
import json
import pickle
import sys
from pathlib import Path

import pytest
import torch
from fixtures.fixes import has_fix
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from models.gpt2_lora import Gpt2Lora, gpt2_of

CLASSES, RANK, ALPHA = 4, 6, 3.0
Weights = dict[str, Tensor]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """On networks this small, threads that wait for each other take most of the time."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(num_threads)


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """A GPT-2 of two layers with random weights, large enough that attention and order matter."""
    from transformers import GPT2Config, GPT2Model  # two seconds, which other processes save

    sizes = {"n_embd": 32, "n_head": 2, "n_layer": 2, "vocab_size": 60, "n_positions": 16}
    config = GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, initializer_range=0.3)
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("gpt2")
    GPT2Model(config).save_pretrained(folder)
    return folder


@pytest.fixture
def network(folder) -> Gpt2Lora:
    return Gpt2Lora(gpt2_of(folder), CLASSES, RANK, ALPHA)


def trained(network: Gpt2Lora, seed: int = 2) -> Weights:
    """Random values for all that is trained, B included."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {name: p.shape for name, p in network.named_parameters() if p.requires_grad}
    return {name: 0.3 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def rows(num: int = 5, seed: int = 3) -> Tensor:
    """Rows of 9 places, of 1, 3, 5, ... tokens and padding; token 0, which is none, ends the one of 5."""
    tokens = torch.randint(60, (num, 9), generator=torch.Generator().manual_seed(seed))
    tokens[:, 4] = 0
    return torch.where(torch.arange(9) < torch.arange(1, 2 * num, 2)[:, None], tokens, -1)


def drawn_parts(network: Gpt2Lora, sizes: tuple[int, ...], seed: int) -> list[dict[str, Tensor]]:
    """Disjoint parts of these sizes: group name -> ranks, drawn for every group on its own."""
    generator = torch.Generator().manual_seed(seed)
    orders = {group: torch.randperm(RANK, generator=generator) for group in network.unit_groups}
    split = {group: order.split(sizes) for group, order in orders.items()}
    return [{group: split[group][number] for group in split} for number in range(len(sizes))]


def cut(network: Gpt2Lora, weights: Weights, part: dict[str, Tensor]) -> Weights:
    smaller = dict(weights)
    for group, cuts in network.unit_groups.items():
        for name, axis in cuts:
            smaller[name] = weights[name].index_select(axis, part[group])
    return smaller


def masked(network: Gpt2Lora, weights: Weights, part: dict[str, Tensor], side: int) -> Weights:
    """The full weights, with one side (0: A, 1: B) of every rank outside of the part set to 0."""
    full = dict(weights)
    for group, cuts in network.unit_groups.items():
        name, axis = cuts[side]
        full[name] = torch.zeros_like(weights[name]).index_copy_(
            axis, part[group], weights[name].index_select(axis, part[group])
        )
    return full


# --- sizes ---


def test_gpt2_small_trains_as_much_as_table_iii_counts():
    from transformers import GPT2Config, GPT2Model

    with torch.device("meta"):
        gpt2 = GPT2Model(GPT2Config())
    network = Gpt2Lora(gpt2, num_classes=20)
    shapes = {name: tuple(p.shape) for name, p in network.named_parameters() if p.requires_grad}
    expected = {f"adapters.{i}.{n}": s for i in range(12) for n, s in (("A", (16, 768)), ("B", (2304, 16)))}
    assert shapes == expected
    num_parameters = sum(rows * columns for rows, columns in shapes.values())
    assert num_parameters == 12 * 16 * (768 + 2304) == 589_824
    assert 4 * num_parameters / 2**20 == 2.25
    assert {name for cuts in network.unit_groups.values() for name, _ in cuts} == set(expected)
    assert {shapes[name][axis] for cuts in network.unit_groups.values() for name, axis in cuts} == {16}


@pytest.mark.parametrize(
    ("num_parts", "entries_mb"),
    [
        (1, [78.75, 83.25, 56.25, 60.75, 258.75, 267.75, 166.50]),
        (2, [50.63, 32.63, 168.75, 111.38]),
        (4, [33.75, 21.94, 100.69, 72.56]),
    ],
)
def test_table_iii_counts_uploads_of_adapters_alone(num_parts: int, entries_mb: list[float]):
    """Whole uploads of the ranks of one of N parts; a head of 20 x 768 would not fit."""
    adapters_mb = 4 * 12 * (16 // num_parts) * (768 + 2304) / 2**20
    head_mb = 4 * 20 * 768 / 2**20

    def misses(upload_mb: float) -> list[float]:
        return [abs(entry - round(entry / upload_mb) * upload_mb) for entry in entries_mb]

    assert max(misses(adapters_mb)) < 0.01
    assert max(misses(adapters_mb + head_mb)) > 0.1
    assert abs(177.45 - round(177.45 / 2.25) * 2.25) > 0.1


def test_fresh_adapters_add_nothing_and_a_is_drawn_as_a_linear_layer(network):
    torch.manual_seed(5)
    for adapter in network.adapters:
        adapter.reset_parameters()
    torch.manual_seed(5)
    for adapter in network.adapters:
        torch.testing.assert_close(adapter.A, torch.nn.Linear(32, RANK, bias=False).weight)
        assert adapter.B.count_nonzero() == 0


# --- forward pass against plain GPT-2 ---


def plain_scores(folder: Path, network: Gpt2Lora, weights: Weights, tokens: Tensor) -> Tensor:
    """Transformers' own model, with merged weights and an attention mask, one row at a time."""
    from transformers import GPT2Model

    gpt2 = GPT2Model.from_pretrained(folder).eval()
    with torch.no_grad():
        for i, block in enumerate(gpt2.h):
            change = ALPHA / RANK * weights[f"adapters.{i}.B"] @ weights[f"adapters.{i}.A"]
            block.attn.c_attn.weight += change.T
        scores = []
        for row in tokens:
            mask = (row >= 0).long()
            hidden = gpt2(input_ids=row.clamp(min=0)[None], attention_mask=mask[None]).last_hidden_state[0]
            scores.append(network.head @ hidden[mask.sum() - 1])
    return torch.stack(scores)


def test_scores_are_those_of_plain_gpt2_with_merged_weights(folder, network):
    weights, tokens = trained(network), rows()
    expected = plain_scores(folder, network, weights, tokens)
    torch.testing.assert_close(functional_call(network, weights, (tokens,)), expected)
    nothing = {name: torch.zeros_like(value) for name, value in weights.items()}
    without = plain_scores(folder, network, nothing, tokens)
    torch.testing.assert_close(network(tokens), without)
    assert (expected - without).abs().min() > 1e-3


def test_padding_changes_nothing(network):
    weights, tokens = trained(network), rows()
    together = functional_call(network, weights, (tokens,))
    for row, scores in zip(tokens, together, strict=True):
        alone = functional_call(network, weights, (row[row >= 0][None],))
        torch.testing.assert_close(alone[0], scores)


def test_every_token_counts(network):
    """The scores come from the last token, and it sees all before it, in their order."""
    weights, row = trained(network), rows()[4:5]
    scores = functional_call(network, weights, (row,))
    for place in range(9):
        other = row.clone()
        other[0, place] = (row[0, place] + 1) % 60
        assert (functional_call(network, weights, (other,)) - scores).abs().max() > 1e-3
    assert (functional_call(network, weights, (row.flip(1),)) - scores).abs().max() > 1e-3


def test_a_row_of_padding_reads_as_one_token_0(network):
    weights = trained(network)
    empty = functional_call(network, weights, (torch.full((1, 9), -1),))
    torch.testing.assert_close(empty, functional_call(network, weights, (torch.tensor([[0]]),)))


def test_training_mode_drops_nothing(network):
    weights, tokens = trained(network), rows()
    assert network.gpt2.config.attn_pdrop == 0.1
    expected = functional_call(network.eval(), weights, (tokens,))
    torch.testing.assert_close(functional_call(network.train(), weights, (tokens,)), expected)


def test_head_is_the_same_for_every_network_of_its_sizes(folder, network):
    torch.manual_seed(99)
    again = Gpt2Lora(gpt2_of(folder), CLASSES, rank=1)
    assert torch.equal(again.head, network.head)
    wide = Gpt2Lora(gpt2_of(folder), 1000)
    assert wide.head.std().item() == pytest.approx(0.3, rel=0.02)
    assert wide.head.mean().item() == pytest.approx(0.0, abs=0.3 * 4 / 32_000**0.5)


# --- parts ---


@pytest.mark.parametrize("sizes", [(3, 3), (1, 5), (1, 2, 3)])
def test_what_disjoint_parts_add_sums_up_to_what_the_whole_adds(network, sizes):
    """For one input of an adapter: sum over parts of B_p A_p z = B A z, at the whole network's factor."""
    weights = trained(network)
    parts = [cut(network, weights, part) for part in drawn_parts(network, sizes, seed=4)]
    z_BTI = torch.randn(5, 9, 32, generator=torch.Generator().manual_seed(5))
    for i, adapter in enumerate(network.adapters):
        a, b = weights[f"adapters.{i}.A"], weights[f"adapters.{i}.B"]
        whole = torch.einsum("or,ri,bti->bto", b, a, z_BTI) * ALPHA / RANK
        of_parts = [
            functional_call(adapter, {n: part[f"adapters.{i}.{n}"] for n in "AB"}, (z_BTI,)) for part in parts
        ]
        torch.testing.assert_close(sum(of_parts), whole)


@pytest.mark.parametrize("sizes", [(3, 3), (1, 5), (1, 2, 3)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_part_is_the_masked_network(network, sizes, side):
    weights, tokens = trained(network), rows()
    whole = functional_call(network, weights, (tokens,))
    for part in drawn_parts(network, sizes, seed=6):
        scores = functional_call(network, cut(network, weights, part), (tokens,))
        expected = functional_call(network, masked(network, weights, part, side), (tokens,))
        torch.testing.assert_close(scores, expected)
        assert (scores - whole).abs().max() > 1e-3


# --- training ---


@pytest.mark.parametrize("sizes", [(6,), (2, 4)])
def test_clients_together_get_the_gradients_of_each_alone(network, sizes):
    part = drawn_parts(network, sizes, seed=7)[0]
    clients = [cut(network, trained(network, seed), part) for seed in (1, 2, 3)]
    tokens = torch.stack([rows(seed=seed) for seed in (1, 2, 3)])
    labels = torch.tensor([[0, 1, 2, 3, 0], [1, 1, 2, 2, 0], [3, 0, 3, 0, 1]])

    def loss(weights: Weights, tokens_BT: Tensor, labels_B: Tensor) -> Tensor:
        return cross_entropy(functional_call(network, weights, (tokens_BT,)), labels_B)

    stacked = {name: torch.stack([weights[name] for weights in clients]) for name in clients[0]}
    together = vmap(grad(loss))(stacked, tokens, labels)
    for number, weights in enumerate(clients):
        leaves = {name: value.clone().requires_grad_() for name, value in weights.items()}
        loss(leaves, tokens[number], labels[number]).backward()
        for name, leaf in leaves.items():
            assert leaf.grad is not None
            assert leaf.grad.abs().max() > 1e-4
            torch.testing.assert_close(together[name][number], leaf.grad, rtol=1e-4, atol=1e-5)


def test_a_step_moves_adapters_and_nothing_else(network):
    before = {name: p.detach().clone() for name, p in network.named_parameters()}
    adapters = {f"adapters.{i}.{name}" for i in range(2) for name in "AB"}
    assert {name for name, p in network.named_parameters() if p.requires_grad} == adapters
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(2):  # in the first A stays, because B is 0
        optimizer.zero_grad()
        cross_entropy(network(rows()), torch.tensor([0, 1, 2, 3, 0])).backward()
        optimizer.step()
    for name, p in network.named_parameters():
        assert (p.grad is None) == (name not in adapters)
        assert torch.equal(p, before[name]) == (name not in adapters)


def test_state_is_parameters_only(network):
    """Floating buffers would travel and be averaged."""
    assert network.state_dict().keys() == dict(network.named_parameters()).keys()


def test_copies_share_what_is_frozen_and_have_adapters_of_their_own(network):
    memo = {id(p): p for p in network.parameters() if not p.requires_grad}
    copied = copy.deepcopy(network, memo)
    before = network(rows())
    with torch.no_grad():
        for adapter in copied.adapters:
            adapter.B.fill_(0.1)
    assert torch.equal(network(rows()), before)
    assert (copied(rows()) - before).abs().max() > 1e-3
    for (name, mine), theirs in zip(network.named_parameters(), copied.parameters(), strict=True):
        assert (mine is theirs) == (not name.startswith("adapters."))


# --- refusals ---


@pytest.mark.parametrize("sizes", [(0, 4, 1.0), (2, 0, 1.0), (2, 4, 0.0)])
def test_sizes_must_be_above_0(folder, sizes):
    with pytest.raises(ValueError, match="all must be above 0"):
        Gpt2Lora(gpt2_of(folder), *sizes)


def test_one_gpt2_serves_one_network(folder):
    gpt2 = gpt2_of(folder)
    Gpt2Lora(gpt2, CLASSES)
    with pytest.raises(ValueError, match="has adapters of another network"):
        Gpt2Lora(gpt2, CLASSES)


def test_rows_longer_than_gpt2_are_refused(network):
    network(torch.zeros((1, 16), dtype=torch.int64))
    with pytest.raises(ValueError, match="rows of 17 tokens: this GPT-2 reads at most 16"):
        network(torch.zeros((1, 17), dtype=torch.int64))


# --- weights from a folder ---


def assert_same(gpt2: torch.nn.Module, folder: Path):
    saved = load_file(folder / "model.safetensors")
    assert gpt2.state_dict().keys() == saved.keys()
    for name, value in gpt2.state_dict().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, saved[name])


def test_weights_are_those_of_the_folder(folder, monkeypatch):
    assert_same(gpt2_of(folder), folder)
    monkeypatch.setenv("COSIM_GPT2", str(folder))
    assert_same(gpt2_of(), folder)
    monkeypatch.setenv("COSIM_GPT2", "nowhere")
    assert_same(gpt2_of(folder), folder)
    monkeypatch.chdir(folder)
    assert_same(gpt2_of(Path(".")), folder)


def test_weights_of_the_whole_language_model_will_do(folder, tmp_path):
    """Weights like older copies of GPT-2: with the causal mask among them, and with a head."""
    from transformers import GPT2Config, GPT2LMHeadModel

    language_model = GPT2LMHeadModel(GPT2Config.from_pretrained(folder))
    language_model.transformer.load_state_dict(load_file(folder / "model.safetensors"))
    language_model.save_pretrained(tmp_path / "head")
    assert_same(gpt2_of(tmp_path / "head"), folder)
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    mask = {"h.0.attn.bias": torch.ones(1, 1, 16, 16), "lm_head.weight": torch.zeros(60, 32)}
    save_file(load_file(folder / "model.safetensors") | mask, tmp_path / "model.safetensors")
    assert_same(gpt2_of(tmp_path), folder)


def without(name: str):
    return lambda folder: (folder / name).unlink()


def with_config(**values: object):
    def change(folder: Path):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def with_weights(**values: Tensor | None):
    def change(folder: Path):
        path = folder / "model.safetensors"
        weights = load_file(path) | {name.replace("__", "."): value for name, value in values.items()}
        save_file({name: value for name, value in weights.items() if value is not None}, path)

    return change


def truncated(folder: Path):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


FAULTS = {
    "no configuration": (without("config.json"), r"config\.json: no configuration of GPT-2"),
    "no JSON": (lambda f: (f / "config.json").write_text("{"), r"config\.json: no configuration of GPT-2"),
    "a list": (lambda f: (f / "config.json").write_text("[]"), r"config\.json: no configuration of GPT-2"),
    "other network": (with_config(model_type="bert"), r"config\.json: of a network 'bert', not 'gpt2'"),
    "odd heads": (with_config(n_head=5), "cannot be read: .*divisible"),
    "no weights": (without("model.safetensors"), "cannot be read: .*no file named model.safetensors"),
    "truncated": (truncated, "cannot be read: "),
    "no safetensors": (lambda f: (f / "model.safetensors").write_bytes(b"weights"), "cannot be read: "),
    "missing": (with_weights(h__1__mlp__c_fc__bias=None), r"1 are missing .*: h\.1\.mlp\.c_fc\.bias"),
    "other shape": (with_weights(wpe__weight=torch.zeros(3, 32)), r"1 are missing or of another.*: wpe"),
    "more layers": (with_config(n_layer=3), "12 are missing or of another shape, 0 are of further layers"),
    "fewer layers": (with_config(n_layer=1), r"0 are missing .*, 11 are of further layers: h\.1\."),
}


@pytest.mark.parametrize(("damage", "message"), FAULTS.values(), ids=FAULTS)
def test_unsound_folders_are_refused(folder, tmp_path, damage, message):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    gpt2_of(tmp_path)
    damage(tmp_path)
    with pytest.raises(ValueError, match=message) as error:
        gpt2_of(tmp_path)
    assert str(error.value).startswith(str(tmp_path))
    assert has_fix(str(error.value))


class Evil:
    """Leaves a file when it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickles_are_never_opened(folder, tmp_path):
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Evil(tmp_path / "opened")))
    with pytest.raises(ValueError, match=r"cannot be read: .*no file named model\.safetensors"):
        gpt2_of(tmp_path)
    assert not (tmp_path / "opened").exists()


def test_without_a_folder_or_transformers_it_says_what_to_do(folder, monkeypatch):
    monkeypatch.delenv("COSIM_GPT2", raising=False)
    with pytest.raises(ValueError, match=r"no folder is named\. Name .*\$COSIM_GPT2"):
        gpt2_of()
    with pytest.raises(ValueError, match=r"gpt2.config\.json: .*FileNotFoundError.*Name a folder"):
        gpt2_of(Path("gpt2"))
    for name in {"transformers", *(name for name in sys.modules if name.startswith("transformers."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=r"needs transformers.*pip install 'cosim\[lora\]'"):
        gpt2_of(folder)
