"""Writes docs/reference.md anew."""

from scenarios.reference import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Written: {PAGE}")
