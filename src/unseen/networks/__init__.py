"""What answers: encoders, read-outs, symbols and their rule, and one's own networks."""
