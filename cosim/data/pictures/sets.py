"""Sets: the published sets of pictures, with all that is known of their files."""

from pathlib import Path

from cosim.data.pictures.cifar10_files import Cifar10Files
from cosim.data.pictures.idx_files import IdxFile, IdxFiles
from cosim.data.pictures.published import Download, PublishedSet

_FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
"""The authors' repository; their older address, an S3 web site, has no https."""

FASHION_MNIST = PublishedSet(
    name="fashion-mnist",
    title="Fashion-MNIST",
    shape=(28, 28),
    contents="its four IDX files",
    size="31 MB",
    downloads=(
        Download(f"{_FASHION}train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        Download(f"{_FASHION}train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        Download(f"{_FASHION}t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        Download(f"{_FASHION}t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ),
    package=("dataset-fashion-mnist", Path("/usr/share/datasets/fashion-mnist")),
    files=IdxFiles(
        IdxFile(
            "train-images-idx3-ubyte",
            (60_000, 28, 28),
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        IdxFile(
            "train-labels-idx1-ubyte",
            (60_000,),
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        IdxFile(
            "t10k-images-idx3-ubyte",
            (10_000, 28, 28),
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        IdxFile(
            "t10k-labels-idx1-ubyte",
            (10_000,),
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
)
"""Pictures of clothes.

Source: Xiao, Rasul, Vollgraf, "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning
Algorithms", arXiv:1708.07747; files and MD5 sums at https://github.com/zalandoresearch/fashion-mnist. The
files of Debian's package differ byte-wise from the upstream ones, in the gzip header only: Debian drops the
file name and sets another time. With upstream's name and time restored they have the published MD5 sums, as
a test shows; so the SHA-256 sums of the decompressed content hold for both.
"""

_CIFAR_10 = Download(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"
)

CIFAR10 = PublishedSet(
    name="cifar10",
    title="CIFAR-10",
    shape=(3, 32, 32),
    contents="cifar-10-binary.tar.gz or its six files",
    size="162 MB",
    downloads=(_CIFAR_10,),
    files=Cifar10Files(archive=_CIFAR_10.name, md5=_CIFAR_10.md5),
)
"""Colour pictures of objects.

Source: Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009; format, files and MD5 sum
at https://www.cs.toronto.edu/~kriz/cifar.html.
"""

SETS = {known.name: known for known in (CIFAR10, FASHION_MNIST)}
"""The sets by name."""
