"""Cases for the widget of evaluate: rows, and what they give."""

PEOPLE = [
    ["a dog by the sea", "a brown dog runs", "a dog on the sand"],
    ["a man at the stove", "a man cooks", "a cook"],
]
SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a red train", "a train arrives"]]

test_cases = [
    {"predictions": SYSTEM, "references": PEOPLE, "result": {"unlike_people_share": 0.5}},
    {"predictions": SYSTEM[1:] * 2, "references": PEOPLE, "result": {"unlike_people_share": 1.0}},
]
