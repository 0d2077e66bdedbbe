"""What the package reads and writes: captions from every usual file, tables of results, and files that are whole."""
