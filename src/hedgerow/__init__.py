"""hedgerow: publish personal data by breaking links, and answer SQL over it with guaranteed bounds."""
