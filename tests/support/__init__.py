"""What only our own tests use: exhaustive oracles, releases of every form and method, faults on purpose."""
