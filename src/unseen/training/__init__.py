"""How networks learn: loop, losses, optimisers, evaluation, metrics and baselines."""
