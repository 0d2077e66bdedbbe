"""Cases for the widget of evaluate: rows, and what they give."""

test_cases = [
    {"data": [["a dog"]], "result": {"new_slug": 2.0}},
    {"data": [["a dog", "a red cat"]], "result": {"new_slug": 2.5}},
]
