"""Tables of designs, to look at and to paste into a text, a page or a program."""
