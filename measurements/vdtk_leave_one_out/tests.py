"""Cases for the widget of evaluate: rows, and what they give."""

SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a man cooks", "a man eats a pancake"]]
PEOPLE = [["a dog by the sea", "a brown dog runs"], ["a man at the stove", "a man cooks"]]

test_cases = [
    {"data": SYSTEM, "result": {"bleu_1": 0.3807, "n_captions": 4}},
    {"data": PEOPLE, "result": {"bleu_1": 0.4134, "n_captions": 4}},
]
