"""How it is answered: networks, training, measures."""
