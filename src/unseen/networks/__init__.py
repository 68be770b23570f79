"""What answers: encoders, read-outs, symbols and their rule, and users' networks."""
