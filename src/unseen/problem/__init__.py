"""What is asked: symbols, operations, splits, samples."""
