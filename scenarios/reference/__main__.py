"""Writes docs/reference.md anew."""

from scenarios.reference import PAGE, page

PAGE.write_text(page(), encoding="utf-8")
print(f"Written: {PAGE}")
