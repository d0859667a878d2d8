"""`cosim data`: download a data set."""

from pathlib import Path

import attrs

from scenarios.command_line.arguments import parse
from scenarios.command_line.console import console


@attrs.frozen(kw_only=True)
class Options:
    """Download the four files of Fashion-MNIST, with checksums.

    Attributes:
        data_dir: Folder to put them into; none: the user's cache folder, where runs look for them.
    """

    data_dir: Path | None = None


def main(arguments: list[str]) -> int:
    """Download what the arguments name."""
    from cosim.data.pictures import fashion_mnist_files as fashion_mnist  # not before it is needed

    if arguments[:1] != ["fashion-mnist"]:
        print("usage: cosim data fashion-mnist [--data-dir FOLDER]")
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2
    options = parse(Options, "cosim data fashion-mnist", arguments[1:], Options())
    folder = options.data_dir or fashion_mnist.cache_folder()
    fashion_mnist.download(folder)
    console.print(f"Fashion-MNIST lies in {folder}")
    return 0
