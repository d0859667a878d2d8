"""Fashion-MNIST: 70,000 grey pictures of clothes, 28 x 28.

Source and files: `sets`.
"""

from typing_extensions import override

from cosim.configuration import part
from cosim.data.pictures.pictures import PublishedPictures
from cosim.data.pictures.published import PublishedSet
from cosim.data.pictures.sets import FASHION_MNIST


@part
class FashionMnist(PublishedPictures):
    """Pictures of ten kinds of clothes, 28 x 28, from four files."""

    @property
    @override
    def published(self) -> PublishedSet:
        return FASHION_MNIST
