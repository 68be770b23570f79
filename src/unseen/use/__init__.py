"""What a trained network is good for: one's own pictures, files and the page to draw in."""
