"""Cases for the widget of evaluate: rows, and what they give."""

test_cases = [
    {
        "predictions": [["a dog", "a dog"]] * 5,
        "references": [["a cat", "a cat"]] * 5,
        "result": {"homogeneity": 0.0, "diversity_difference": 0.0},
    },
    {
        "predictions": [["a dog", "a cat"]] * 5,
        "references": [["a dog", "a cat"]] * 5,
        "result": {"homogeneity": 2.0, "diversity_difference": 0.0},
    },
]
