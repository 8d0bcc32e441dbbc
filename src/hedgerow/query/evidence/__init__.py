"""What a release tells about a question: one file per form."""
