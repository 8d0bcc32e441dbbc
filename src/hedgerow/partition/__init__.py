"""Search: which row goes to which group. One family a module, or a package whose first page exports the algorithm."""
