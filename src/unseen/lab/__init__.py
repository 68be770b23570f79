"""How it is played: a page to choose what is never seen, watch it being learnt, and try it."""
