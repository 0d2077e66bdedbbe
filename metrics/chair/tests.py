"""Cases for the widget of evaluate: rows, and what they give."""

PEOPLE = [["a dog sleeps", "a dog lies on the floor"], ["men on a bench", "people sit on a bench"]]

test_cases = [
    {"predictions": [["a puppy on a bed"], ["two men"]], "references": PEOPLE, "result": {"chair_i": 0.3333}},
    {"predictions": [["a puppy"], ["two men"]], "references": PEOPLE, "result": {"chair_i": 0.0}},
]
