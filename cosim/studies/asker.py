"""Asker: the process that asks for runs, and what a worker must have in common with it.

A worker on another machine may have other code of cosim, or other files of a user's own modules and of what
parts read. Such a worker refuses its run, because no table mixes runs of both. Other versions of packages,
and where something is learned another kind of processor, are a warning: times stay the same, and the last
digits of what is learned do not.

The disk need not be shared. A worker sees the asker's folder if it reads the asker's own words in its lock; a
folder that happens to lie at the same path on another disk does not count.

Validation: tests/studies/test_asker.py.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path

import attrs

from cosim.configuration import ConfigurationError
from cosim.files.folders import holder
from cosim.files.on_disk import machine
from cosim.own_code.sources import Sources, check_files, others, sources_of
from cosim.results.provenance import software
from cosim.results.versions import Version
from cosim.system.system import System


@attrs.frozen
class Asker:
    """The process that asks for runs, as its workers know it.

    Attributes:
        folder: Folder in which all runs of it are, which it holds locked.
        words: What it has written in the lock.
        version: Its cosim.
        packages: Name -> version of packages that compute.
        processor: Kind of processor.
        sources: A user's own modules and files.
    """

    folder: str
    words: str
    version: Version
    packages: Mapping[str, str | None]
    processor: str
    sources: Sources

    @classmethod
    def of(cls, folder: Path, sources: Sources) -> "Asker":
        """The process that works, once it has locked a folder."""
        own = software()
        return cls(str(folder), holder(folder), Version.of(own), own["versions"], own["processor"], sources)

    def is_seen(self) -> bool:
        """True if this process sees the folder on a disk that both share."""
        return holder(Path(self.folder)) == self.words

    def check(self, system: System) -> None:
        """Refuse to run a system here with other code or files than the asker's.

        Raises:
            ConfigurationError: Which differ, or are not there.

        Warns:
            UserWarning: Packages have other versions here, or what learns is another kind of processor.
        """
        here, own = f"worker on {machine()}", software()
        if (found := Version.of(own)) != self.version:
            raise ConfigurationError(
                f"{here}: has other code of cosim ({found.words}) than the process that asks for runs "
                f"({self.version.words}). Use the same on both: install it there, and start the worker again."
            )
        try:
            check_files(system)
        except ConfigurationError as error:
            raise ConfigurationError(f"{here}: {error}") from None
        for other in others(self.sources, sources_of(system)):
            raise ConfigurationError(
                f"{here}: its {other.what} is {other.file}, which differs from the file of the process that "
                f"asks for runs (sha256 {other.now} here, {other.before} there). Use the same file on both, "
                "in a folder of PYTHONPATH if it is a module, and start the worker again."
            )
        differ = [
            f"{name} {own['versions'].get(name)} in place of {version}"
            for name, version in self.packages.items()
            if own["versions"].get(name) != version
        ]
        if system.evaluation.learns and own["processor"] != self.processor:
            differ.append(f"the processor {own['processor']} in place of {self.processor}")
        if differ:
            warnings.warn(
                f"{here}: has {', '.join(differ)}, so last digits of what is learned may differ. "
                "Use the same on both for the same bits.",
                stacklevel=2,
            )
