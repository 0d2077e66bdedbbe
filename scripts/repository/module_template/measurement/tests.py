"""Cases for the widget of evaluate: rows, and what they give."""

test_cases = [
    {"data": [["a dog", "a cat"]], "result": {"new_slug": 0.3333}},
    {"data": [["a dog", "a dog"]], "result": {"new_slug": 1.0}},
]
