"""Tables: the files of a user's that a field names, read strictly: csv, csv.gz, Parquet and npz.

Nothing is guessed. A csv file is UTF-8 with commas, a header in its first row and points in decimals; a cell
is text until a part asks for numbers, and a number is written as in `-1.5e3`. A Parquet column or an array of
an npz is of integers or floats; durations, times, bools, decimals, texts and complex numbers are refused by
their type. Every fault is an error that names file, row (of a csv file the line, the header's is 1; of
Parquet counted from 1) and column. Columns for which nothing asks are passed over.

| file | |
|---|---|
| `read` | a table of a path, by the end of its name, read once |
| `table` | the columns of a table, whatever the file: numbers, names, faults |
| `text` | csv: bytes to cells |
| `cells` | cells of text as numbers |
| `parquet` | Parquet: columns by their types |
| `lines` | one number in each line |
| `arrays` | npz: arrays by their types |
| `content` | the bytes of a file, and what a file is that is called something else |
| `devices` | tables whose rows name clients |
| `once` | a file is read again when it has changed |
| `room` | whether memory holds what a folded file unfolds to |

Scope and limitations: whole tables in memory; units are in the columns' names.

Validation: tests/tables/.
"""
