"""What is varied: studies of many runs."""
