"""FrozenLake, CliffWalking, Taxi and Blackjack with Gymnasium's transition tables."""
