"""Networks as people have them, with tiny widths, and data for them."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations

import cosim
from cosim.data.dataset import Dataset

NUM_TRAINING, NUM_TEST, NUM_CLASSES, NUM_TOKENS, LENGTH = 48, 12, 3, 20, 6
_rng = np.random.default_rng(1)
_labels = np.arange(NUM_TRAINING + NUM_TEST) % NUM_CLASSES


def _parts(name, x, y):
    return Dataset.of(name, (x[:NUM_TRAINING], y[:NUM_TRAINING]), (x[NUM_TRAINING:], y[NUM_TRAINING:]))


_rows = _rng.standard_normal((NUM_TRAINING + NUM_TEST, 12), np.float32)
_tokens = _rng.integers(1, NUM_TOKENS, (NUM_TRAINING + NUM_TEST, LENGTH))
for _row, _length in zip(_tokens, _rng.integers(2, LENGTH + 1, len(_tokens)), strict=True):
    _row[_length:] = 0  # padding
ROWS = _parts("rows", _rows, _labels)
COPIES = _parts("copies", _rows, _rows)
PAIRS = _parts("pairs", _rows, _labels % 2)
PICTURES = _parts("pictures", _rng.standard_normal((len(_labels), 3, 8, 8), np.float32), _labels)
_grey = _rng.standard_normal((len(_labels), 1, 8, 8), np.float32)
SEGMENTS = _parts("segments", _grey, np.abs(_grey).reshape(len(_labels), -1))
TEXTS = _parts("texts", _tokens, _labels)
NEXT = _parts("next", _tokens, _tokens.sum(1) % NUM_TOKENS)


def conv3x3(inputs, outputs, stride=1, groups=1):
    return nn.Conv2d(inputs, outputs, 3, stride, 1, groups=groups, bias=False)


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inputs, outputs, norm) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv3x3(inputs, outputs, 2),
            norm(outputs),
            nn.ReLU(inplace=True),
            conv3x3(outputs, outputs),
            norm(outputs),
        )
        self.around = nn.Sequential(nn.Conv2d(inputs, outputs, 1, 2, bias=False), norm(outputs))

    def forward(self, x):
        return functional.relu(self.body(x) + self.around(x))


def resnet(norm):
    return nn.Sequential(
        conv3x3(3, 4),
        norm(4),
        nn.ReLU(inplace=True),
        Block(4, 4, norm),
        Block(4, 8, norm),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, NUM_CLASSES),
    )


class InvertedResidual(nn.Module):
    """Wide, depthwise, narrow."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, 8, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU6(inplace=True),
            conv3x3(8, 8, groups=8),
            nn.BatchNorm2d(8),
            nn.ReLU6(inplace=True),
            nn.Conv2d(8, 4, 1, bias=False),
            nn.BatchNorm2d(4),
        )

    def forward(self, x):
        return x + self.body(x)


def mobilenet():
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, NUM_CLASSES))
    return nn.Sequential(
        conv3x3(3, 4, 2), nn.BatchNorm2d(4), nn.Hardswish(inplace=True), InvertedResidual(), *head
    )


class UNet(nn.Module):
    """Down, up, and across: a number for every pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(conv3x3(1, 4), nn.GroupNorm(2, 4), nn.ReLU())
        self.middle = nn.Sequential(nn.MaxPool2d(2), conv3x3(4, 8), nn.ReLU())
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        across = self.down(x)
        return self.last(torch.cat((across, self.up(self.middle(across))), 1)).flatten(1)


def vgg():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.ReLU(True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 8),
        nn.ReLU(True),
        nn.Dropout(0.5),
        nn.Linear(8, NUM_CLASSES),
    )


class Recurrent(nn.Module):
    """The last output of a recurrent layer."""

    def __init__(self, kind, **knobs) -> None:
        super().__init__()
        self.table, self.rnn = nn.Embedding(NUM_TOKENS, 4), kind(4, 5, batch_first=True, **knobs)
        self.head = nn.Linear(10 if knobs.get("bidirectional") else 5, NUM_CLASSES)

    def forward(self, x):
        return self.head(self.rnn(self.table(x))[0][:, -1])


class Packed(nn.Module):
    """A recurrent layer that stops at the end of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(NUM_TOKENS, 4, padding_idx=0)
        self.rnn, self.head = nn.RNN(4, 5, batch_first=True), nn.Linear(5, NUM_CLASSES)

    def forward(self, x):
        lengths = (x != 0).sum(1).cpu()
        z = nn.utils.rnn.pack_padded_sequence(self.table(x), lengths, batch_first=True, enforce_sorted=False)
        return self.head(self.rnn(z)[1][-1])


class Encoder(nn.Module):
    """A transformer's encoder with a mask of the padding."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(NUM_TOKENS, 8), nn.Parameter(torch.randn(LENGTH, 8) / 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, NUM_CLASSES)

    def forward(self, x):
        z = self.layer(self.table(x) + self.places, src_key_padding_mask=x == 0)
        return self.head(z[:, 0])


class Bert(nn.Module):
    """BERT of transformers, with its attention mask."""

    def __init__(self, dropout=0.0) -> None:
        from transformers import BertConfig, BertModel  # seconds, which other processes save

        super().__init__()
        config = BertConfig(
            vocab_size=NUM_TOKENS,
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=LENGTH,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=0.0,
        )
        self.bert, self.head = BertModel(config), nn.Linear(8, NUM_CLASSES)

    def forward(self, x):
        return self.head(self.bert(input_ids=x, attention_mask=(x != 0).long()).pooler_output)


class Causal(nn.Module):
    """Attention that looks back, and tables that are tied: the token that follows."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(NUM_TOKENS, 8), nn.Embedding(LENGTH, 8)
        self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), -math.inf).triu(1), persistent=False)

    def forward(self, x):
        z = self.table(x) + self.places(torch.arange(x.shape[1], device=x.device))
        q, k, v = self.qkv(self.norm(z)).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        z = z + self.out((q @ k.mT / 2.0 + self.mask).softmax(-1).matmul(v).transpose(1, 2).flatten(2))
        return functional.linear(z[:, -1], self.table.weight)


def autoencoder():
    return nn.Sequential(nn.Linear(12, 4), nn.Tanh(), nn.Linear(4, 12))


class Variational(nn.Module):
    """Mean, spread and what is rebuilt; the noise is what a dropout layer makes of ones."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder, self.noise = nn.Linear(12, 4), nn.Linear(2, 12), nn.Dropout(0.5)

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        noise = self.noise(torch.ones_like(mean)) - 1.0
        return torch.cat((self.decoder(mean + (0.5 * log_variance).exp() * noise), mean, log_variance), -1)


class Bound(cosim.tasks.Regression):
    """Rebuilt input, and the divergence of mean and spread from a standard normal."""

    def num_outputs(self, dataset):
        return 16

    def loss(self, outputs, targets):
        rebuilt, mean, log_variance = outputs.split((12, 2, 2), -1)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1.0 - log_variance).sum(-1).mean()
        return (rebuilt - targets).square().mean() + 0.1 * divergence

    def sums(self, outputs, targets):
        return super().sums(outputs[:, :12], targets)


class Experts(nn.Module):
    """Two of four experts for each sample."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = (
            nn.Linear(12, 4),
            nn.ModuleList(nn.Linear(12, NUM_CLASSES) for _ in range(4)),
        )

    def forward(self, x):
        best = self.gate(x).topk(2, -1)
        shares = torch.zeros(len(x), 4, device=x.device).scatter(-1, best.indices, best.values.softmax(-1))
        return (torch.stack([expert(x) for expert in self.experts], 1) * shares[..., None]).sum(1)


class Routed(Experts):
    """The same, but an expert sees its samples only."""

    def forward(self, x):
        best = self.gate(x).topk(2, -1)
        shares, y = best.values.softmax(-1), x.new_zeros(len(x), NUM_CLASSES)
        for number, expert in enumerate(self.experts):
            rows, ranks = torch.where(best.indices == number)
            y = y.index_add(0, rows, expert(x[rows]) * shares[rows, ranks, None])
        return y


class Tied(nn.Module):
    """One matrix twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, NUM_CLASSES)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


class Adapted(nn.Module):
    """A frozen layer and a low rank beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(12, 8).requires_grad_(False)
        self.down, self.up = nn.Linear(12, 2, bias=False), nn.Linear(2, 8, bias=False)
        self.head = nn.Linear(8, NUM_CLASSES)

    def forward(self, x):
        return self.head(torch.relu(self.base(x) + self.up(self.down(x))))


class Squeezed(nn.Module):
    """Channels weighed by what all pixels say."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4, NUM_CLASSES)
        self.gate = nn.Sequential(nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 4), nn.Sigmoid())

    def forward(self, x):
        x = self.first(x)
        return self.head((x * self.gate(x.mean((2, 3)))[..., None, None]).amax((2, 3)))


def weight_norm():
    first = parametrizations.weight_norm(nn.Linear(12, 8))
    return nn.Sequential(first, nn.ELU(), nn.Linear(8, NUM_CLASSES))


def spectral_norm():
    first = parametrizations.spectral_norm(nn.Linear(12, 8))
    return nn.Sequential(first, nn.LeakyReLU(), nn.Linear(8, NUM_CLASSES))


class Siamese(nn.Module):
    """One encoder for both halves."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Sequential(nn.Linear(6, 5), nn.Tanh()), nn.Linear(5, 2)

    def forward(self, x):
        one, other = x.chunk(2, -1)
        return self.head((self.encoder(one) - self.encoder(other)).abs())


class Bag(nn.Module):
    """The mean of a text's rows."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(NUM_TOKENS, 4, mode="mean", padding_idx=0)
        self.head = nn.Linear(4, NUM_CLASSES)

    def forward(self, x):
        return self.head(self.table(x))


class Mixer(nn.Module):
    """Features are mixed over places, then over channels."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norms = nn.Conv2d(3, 6, 4, 4), nn.ModuleList(nn.LayerNorm(6) for _ in range(2))
        self.places = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
        self.channels = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6))
        self.head = nn.Linear(6, NUM_CLASSES)

    def forward(self, x):
        z = self.patches(x).flatten(2).mT
        z = z + self.places(self.norms[0](z).mT).mT
        return self.head((z + self.channels(self.norms[1](z))).mean(1))


TOGETHER, ALONE = "torch.func batches", "torch.func cannot batch"
CONVOLVES, FROZEN, DROPS = "convolutions", "frozen", "dropout"
NETWORKS = {
    "ResNet with BatchNorm": (lambda: resnet(nn.BatchNorm2d), PICTURES, CONVOLVES),
    "ResNet with GroupNorm": (lambda: resnet(lambda n: nn.GroupNorm(2, n)), PICTURES, CONVOLVES),
    "MobileNet": (mobilenet, PICTURES, CONVOLVES),
    "U-Net": (UNet, SEGMENTS, CONVOLVES),
    "VGG with dropout": (vgg, PICTURES, DROPS),
    "LSTM": (lambda: Recurrent(nn.LSTM, num_layers=2), TEXTS, ALONE),
    "GRU both ways": (lambda: Recurrent(nn.GRU, bidirectional=True), TEXTS, TOGETHER),
    "RNN of packed texts": (Packed, TEXTS, ALONE),
    "transformer's encoder": (Encoder, TEXTS, ALONE),
    "BERT": (Bert, TEXTS, ALONE),
    "BERT with dropout": (lambda: Bert(0.1), TEXTS, DROPS),
    "causal transformer": (Causal, NEXT, TOGETHER),
    "autoencoder": (autoencoder, COPIES, TOGETHER),
    "variational autoencoder": (Variational, COPIES, DROPS),
    "mixture of experts": (Experts, ROWS, TOGETHER),
    "routed experts": (Routed, ROWS, ALONE),
    "tied weights": (Tied, ROWS, TOGETHER),
    "LoRA": (Adapted, ROWS, FROZEN),
    "squeeze and excite": (Squeezed, PICTURES, CONVOLVES),
    "weight norm": (weight_norm, ROWS, ALONE),
    "spectral norm": (spectral_norm, ROWS, ALONE),
    "Siamese": (Siamese, PAIRS, TOGETHER),
    "bag of tokens": (Bag, TEXTS, ALONE),
    "MLP-Mixer": (Mixer, PICTURES, CONVOLVES),
}
"""Name -> what makes it, its data, and how its clients are trained, by a word of the reason."""

TASKS = {"variational autoencoder": Bound(), "causal transformer": cosim.tasks.NextToken()}
