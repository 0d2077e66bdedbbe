"""Cases for the widget of evaluate: rows, and what they give."""

SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a man cooks", "a man eats a pancake"], ["a cat sleeps"] * 2]
PEOPLE = [
    ["a dog by the sea", "a brown dog runs"],
    ["a man at the stove", "a man cooks"],
    ["a cat naps", "a sleepy cat"],
]

test_cases = [
    {"predictions": SYSTEM, "references": PEOPLE, "result": {"precision": 1.0}},
    {"predictions": PEOPLE, "references": PEOPLE, "result": {"coverage": 1.0}},
]
