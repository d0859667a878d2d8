"""Take in figures, and write the pages of docs/results."""

import sys
from collections.abc import Sequence
from pathlib import Path

import cosim
from scenarios.results import pages, take_in


def main(folders: Sequence[str]) -> None:
    """Take in the figures of each folder, say what was taken and what was left, and write the pages."""
    for folder in map(Path, folders):
        try:
            taken, left = take_in(folder)
        except cosim.ConfigurationError as error:
            sys.exit(str(error))
        print(f"Taken in: {', '.join(taken) or 'nothing'}")
        if left:
            print(f"Left, quick forms where a full one is kept: {', '.join(left)}")
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"Written: {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
