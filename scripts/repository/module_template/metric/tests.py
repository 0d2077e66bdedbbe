"""Cases for the widget of evaluate: rows, and what they give."""

test_cases = [
    {"predictions": [["a dog"]], "references": [["a cat"]], "result": {"new_slug": 0.3333}},
    {"predictions": [["a dog"]], "references": [["a dog"]], "result": {"new_slug": 1.0}},
]
