from cosim.data.arrays import Arrays
from cosim.data.dataset import Dataset
from cosim.data.pictures.cifar10 import Cifar10
from cosim.data.pictures.digits import Digits
from cosim.data.pictures.fashion_mnist import FashionMnist
from cosim.data.port import Data
from cosim.data.split_data import SplitData
from cosim.data.splits.dirichlet import Dirichlet
from cosim.data.splits.iid import Iid
from cosim.data.splits.natural import Natural
from cosim.data.splits.port import Split
from cosim.data.splits.sampled import Sampled
from cosim.data.splits.shards import CellIid, Shards
from cosim.data.synthetic import Synthetic
from cosim.data.texts.authored_text import AuthoredText
from cosim.data.texts.newsgroups import Newsgroups20

__all__ = [
    "Arrays",
    "AuthoredText",
    "CellIid",
    "Cifar10",
    "Data",
    "Dataset",
    "Digits",
    "Dirichlet",
    "FashionMnist",
    "Iid",
    "Natural",
    "Newsgroups20",
    "Sampled",
    "Shards",
    "Split",
    "SplitData",
    "Synthetic",
]
