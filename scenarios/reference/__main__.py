"""Write docs/reference.md, docs/words.md, and the matrix of docs/parts.md."""

from scenarios.reference import PAGE, matrix, page, words

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    words.PAGE.write_text(words.page(), encoding="utf-8")
    matrix.PAGE.write_text(matrix.with_matrix(matrix.PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Written: {PAGE}, {words.PAGE}, {matrix.PAGE}")
