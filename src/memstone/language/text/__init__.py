"""Tools for text in any language: words, stems, normal forms, BM25, days."""
