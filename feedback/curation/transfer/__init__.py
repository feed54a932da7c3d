"""Checked answers and test questions as CSV: out, and in by two steps, the preview and the writing.

csv_table    bytes ↔ rows of cells, whatever a spreadsheet program makes of a CSV
documents    what the cells call collections and documents
resource     a row ↔ what is stored (django-import-export); `golden` and `curated` are the two kinds,
             `curated_cells` what the cells of the latter stand for
exports      the file that a person may have
imports      an upload, its check, its writing in batches by one process at a time, and taking it back
"""
