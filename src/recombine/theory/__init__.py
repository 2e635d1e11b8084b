"""Theory: closed forms and simulations of them, no training."""
