"""Takes in figures, and writes the pages of docs/results anew."""

import sys
from pathlib import Path

from scenarios.results import pages, take_in

if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:]):
        print(f"Taken in: {', '.join(take_in(folder)) or 'nothing'}")
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"Written: {path}")
