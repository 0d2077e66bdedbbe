"""Cases for the widget of evaluate: rows, and what they give."""

PEOPLE = [["a dog runs", "a wet dog"], ["two cats"]]

test_cases = [
    {"predictions": [["a dog"], ["two dogs"]], "references": PEOPLE, "result": {"novel_share": 1.0}},
    {"predictions": [["two cats"], ["two cats"]], "references": PEOPLE, "result": {"novel_share": 0.5}},
]
