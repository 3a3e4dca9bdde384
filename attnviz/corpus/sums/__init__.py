"""What is summed of sentences, and what the sums come to."""
