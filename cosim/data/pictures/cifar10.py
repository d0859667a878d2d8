"""CIFAR-10: 60,000 colour pictures of ten classes of objects, 3 x 32 x 32.

Source and files: `sets`.
"""

from typing_extensions import override

from cosim.configuration import part
from cosim.data.pictures.pictures import PublishedPictures
from cosim.data.pictures.published import PublishedSet
from cosim.data.pictures.sets import CIFAR10


@part
class Cifar10(PublishedPictures):
    """Colour pictures of ten classes of objects, 3 x 32 x 32, from an archive or six files."""

    @property
    @override
    def published(self) -> PublishedSet:
        return CIFAR10
