"""Download: files of a published set from its authors, with checksums.

A file appears under its name when all of it has arrived and has the published checksum; what an interrupted
download has left beside is removed by the next one. Addresses of proxies and certificates are taken from the
usual variables, such as $https_proxy and $REQUESTS_CA_BUNDLE.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from cosim.configuration import ConfigurationError
from cosim.data.pictures.published import Download, PublishedSet, cache_folder, named_folder
from cosim.files.on_disk import replace, sweep, told

TIMEOUT_S = 30.0
"""Time limit for a silent server. [no source]"""
CHUNK_BYTES = 1 << 16

Progress = Callable[[str], Any]
"""Function of a file's name; gives a progress bar as pooch takes it, of tqdm's form."""


def folder_to_fill(known: PublishedSet, data_dir: Path | None = None) -> Path:
    """Folder to download to: the one that the user names, else the one in the cache.

    Raises:
        ConfigurationError: The user has no home.
    """
    if (named := named_folder(data_dir)) is not None:
        return named[0]
    if (cache := cache_folder()) is None:
        raise ConfigurationError(
            "there is no home folder to download to. Use --data-dir FOLDER, or set $XDG_CACHE_HOME."
        )
    return cache / known.name


def download(known: PublishedSet, folder: Path, progress: Progress | None = None) -> None:
    """Download a set into a folder, which is made if missing; files as published are left as they are.

    Raises:
        ConfigurationError: No network, no such file, content that is not the published one, or a folder that
            cannot be written to. Files that had arrived before stay; nothing is left of the one that failed,
            nor a folder that was made for it alone.
    """
    new = [of for of in (folder, *folder.parents) if not of.exists()]
    try:
        for file in known.downloads:
            path = folder / file.name
            with told(path):
                folder.mkdir(parents=True, exist_ok=True)
                sweep(folder)
            if not _is_published(path, file):
                replace(path, lambda partial, file=file: _fetch(known, file, partial, progress))
    finally:
        for made in new:
            with suppress(OSError):  # it holds files, or was not made
                made.rmdir()


def _is_published(path: Path, file: Download) -> bool:
    import pooch  # slow to import, and only needed here

    with suppress(OSError):
        return path.is_file() and pooch.file_hash(str(path), alg="md5") == file.md5
    return False


def _fetch(known: PublishedSet, file: Download, partial: Path, progress: Progress | None) -> None:
    import pooch
    import requests

    bar = progress(file.name) if progress else False
    try:
        pooch.HTTPDownloader(progressbar=bar, chunk_size=CHUNK_BYTES, timeout=TIMEOUT_S)(
            file.url, str(partial), None
        )
    except requests.RequestException as error:
        why, fix = _why(error)
    else:
        if (found := pooch.file_hash(str(partial), alg="md5")) == file.md5:
            return
        why = f"what arrived is not the published file (MD5 {found}, not {file.md5}): {_looks_like(partial)}"
        fix = "Try again"
    raise ConfigurationError(f"cannot download {file.url}: {why}. {fix}; or {known.without_download}.")


def _looks_like(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(100).lstrip()
    if not start:
        return "it is empty"
    return "it is a web page, of a login or a proxy" if start[:1] == b"<" else "it is cut off or changed"


def _why(error: Exception) -> tuple[str, str]:
    """Fault of the network, and its fix."""
    from requests import exceptions

    answer = getattr(error, "response", None)
    cause = _cause(error)
    if isinstance(error, exceptions.ProxyError) or getattr(answer, "status_code", 0) == 407:
        return f"the proxy refuses or does not answer ({cause})", "Set $https_proxy right, or unset it"
    if isinstance(error, exceptions.SSLError):
        fix = "Set $REQUESTS_CA_BUNDLE to the certificates of your network"
        return f"the server's certificate is not trusted ({cause})", fix
    if answer is not None:
        return f"the server answers {answer.status_code} {answer.reason}", "Try again later"
    if isinstance(error, exceptions.Timeout):
        return f"no answer within {TIMEOUT_S:.0f} s", "Try again"
    if isinstance(error, exceptions.ChunkedEncodingError):
        return "the connection broke off before the end", "Try again"
    return f"no connection ({cause})", "Try again with a network"


def _cause(error: BaseException) -> str:
    """First cause of an error, in a few words."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return words[:100] or type(error).__name__
