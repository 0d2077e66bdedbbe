"""What the site needs of docstrings beside Google's form: bare examples get a heading, and fields their comments."""

import itertools
import re
from typing import Any

import griffe

# The first line of an example that nothing but examples follows.
EXAMPLE = re.compile(r"^>>> ", re.MULTILINE)


class Examples(griffe.Extension):
    """Changes docstrings as they are read, before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ARG002
        """Put `Examples:` above the first `>>>`, and what follows into its section."""
        if obj.docstring and (example := EXAMPLE.search(obj.docstring.value)):
            text, start = obj.docstring.value, example.start()
            examples = "".join(f"    {line}\n" if line else "\n" for line in text[start:].splitlines())
            obj.docstring.value = f"{text[:start]}Examples:\n{examples}"

    def on_attribute(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:  # noqa: ARG002
        """Take the comment above the field of a class for its docstring."""
        if attr.docstring or attr.lineno is None or not (attr.parent and attr.parent.is_class):
            return
        above = reversed(attr.lines_collection[attr.filepath][: attr.lineno - 1])
        comment = list(itertools.takewhile(lambda line: line.startswith("#"), map(str.strip, above)))
        if comment:
            text = " ".join(line.lstrip("# ") for line in reversed(comment))
            attr.docstring = griffe.Docstring(text, parent=attr)
