"""What a submission is asked: cases drawn from the course, and the calls made of them."""
