"""What a person reads: figures and pages."""
