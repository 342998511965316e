"""What everybody needs: results, calls, answers, the key, identifiers, text."""
