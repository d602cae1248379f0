"""How much of a card's memory a program takes."""
