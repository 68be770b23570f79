"""What it means: statistics, and the figures of the paper to hold them against."""
