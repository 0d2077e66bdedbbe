"""Start demo pages as children of one process that has imported the large libraries already.

Importing torch, transformers and gradio takes most of the time until a page is served, and is the same for every page.
Reads one JSON object a line: {"folder": ..., "log": ..., "environment": {...}}. A child runs the folder's app.py as
`python app.py` would: as `__main__`, in its folder, which is first on the path. Ends with its input, and its children
with it.
"""

import json
import os
import runpy
import signal
import sys

# What the pages and their modules import, directly or not.
import av  # noqa: F401
import datasets  # noqa: F401
import evaluate  # noqa: F401
import gradio  # noqa: F401
import matplotlib.figure  # noqa: F401
import nltk  # noqa: F401
import open_clip  # noqa: F401
import scipy.stats  # noqa: F401
import sentence_transformers  # noqa: F401
import torch  # noqa: F401


def run_page(folder, log, environment):
    """Become `python app.py`."""
    with open(log, "w") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0], sys.argv = folder, ["app.py"]
    runpy.run_path("app.py", run_name="__main__")


if __name__ == "__main__":
    children = []
    while line := sys.stdin.readline():
        child = os.fork()
        if not child:
            run_page(**json.loads(line))
            sys.exit()
        children.append(child)
    for child in children:
        os.kill(child, signal.SIGTERM)
