"""What was run: experiments, folds, the folders they leave."""
