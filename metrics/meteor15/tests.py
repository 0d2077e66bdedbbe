"""Cases for the widget of evaluate: rows, and what they give with any data."""

SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a man cooks", "a man eats a pancake"]]
PEOPLE = [["a dog by the sea", "a brown dog runs"], ["a man at the stove", "a man cooks"]]

test_cases = [
    {"predictions": SYSTEM, "references": PEOPLE, "result": {"n_rows": 2}},
    {"predictions": PEOPLE, "references": PEOPLE, "result": {"n_rows": 2}},
]
