"""The course tests itself: every bug caught, every correct variant accepted, margins measured."""
