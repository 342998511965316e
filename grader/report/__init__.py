"""Shows results; reads them and computes nothing."""
