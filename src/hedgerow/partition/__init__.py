"""Search: which row goes to which group. One family is one module, or one package."""
