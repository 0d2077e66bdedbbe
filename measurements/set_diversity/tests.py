"""Cases for the widget of evaluate: rows, and what they give."""

SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a man cooks", "a man eats a pancake"]]
PEOPLE = [["a dog by the sea", "a brown dog runs"], ["a man at the stove", "a man cooks"]]

test_cases = [
    {"predictions": SYSTEM, "references": PEOPLE, "result": {"div_1": 0.7014, "mbleu_4": 0.0}},
    {"predictions": PEOPLE, "references": PEOPLE, "result": {"div_1": 0.7639, "mbleu_4": 0.0}},
]
