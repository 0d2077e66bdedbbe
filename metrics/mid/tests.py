"""Cases for the widget of evaluate: rows, and what they give with any weights."""

import numpy as np

RED, BLUE = (np.full((8, 8, 3), color, dtype=np.uint8) for color in ((200, 30, 30), (30, 30, 200)))
SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a man cooks", "a man eats a pancake"]]
PEOPLE = [["a dog by the sea", "a brown dog runs"], ["a man at the stove", "a man cooks"]]

test_cases = [
    {"predictions": SYSTEM, "images": [RED, BLUE], "references": PEOPLE, "result": {"n_rows": 2}},
    {"predictions": PEOPLE, "images": [RED, BLUE], "references": PEOPLE, "result": {"n_rows": 2}},
]
