"""The kinds of property, one module each: what it declares, plans, judges and says of itself."""
