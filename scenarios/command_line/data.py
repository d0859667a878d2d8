"""`cosim data`: download a data set, or convert files of other tools."""

from pathlib import Path

import attrs

from cosim.configuration import ConfigurationError, did_you_mean
from scenarios.command_line.arguments import first_word, parse, usage
from scenarios.command_line.console import console


@attrs.frozen(kw_only=True)
class Options:
    """Download the four files of Fashion-MNIST, with checksums.

    Attributes:
        data_dir: Folder to put them into; none: the user's cache folder, where runs look for them.
    """

    data_dir: Path | None = None


def main(arguments: list[str]) -> int:
    """Download or convert what the arguments name."""
    if arguments[:1] == ["convert"]:
        from scenarios.command_line import convert  # not before it is needed

        return convert.main(arguments[1:])
    from cosim.data.pictures import fashion_mnist_files as fashion_mnist  # not before it is needed

    name, rest = first_word(arguments)
    if name is None:
        return usage(
            "data", "fashion-mnist", Options(), arguments, __doc__ or "", ["fashion-mnist", "convert"], {}
        )
    if name != "fashion-mnist":
        hint = did_you_mean(name, ["fashion-mnist", "convert"])
        raise ConfigurationError(f"no data set {name!r} to download.{hint} Known: fashion-mnist, convert.")
    options = parse(Options, "cosim data fashion-mnist", rest, Options())
    folder = options.data_dir or fashion_mnist.cache_folder()
    fashion_mnist.download(folder)
    console.print(f"Fashion-MNIST lies in {folder}")
    return 0
