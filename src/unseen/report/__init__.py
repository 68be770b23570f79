"""How it is shown: progress, tables, JSON."""
