"""What is made of a class's results: who is who, scores, exports, feedback, statistics."""
