"""Times the training step of a network given as a plan. See `__main__.py` beside this package."""
