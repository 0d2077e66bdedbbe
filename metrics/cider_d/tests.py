"""Cases for the widget of evaluate: rows, and what they give."""

SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a man cooks", "a man eats a pancake"]]
PEOPLE = [["a dog by the sea", "a brown dog runs"], ["a man at the stove", "a man cooks"]]

test_cases = [
    {"predictions": SYSTEM, "references": PEOPLE, "result": {"cider_d": 2.3261}},
    {
        "predictions": ["a dog plays", "a red cat"],
        "references": ["a dog plays", "a red cat"],
        "result": {"cider_d": 7.5},
    },
]
