"""What ratings do to later answers: simulated people, rounds, and questions that want the same answer."""
