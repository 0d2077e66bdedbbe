"""Packages that take seconds to import, imported when a test first uses them: collecting tests needs none of them."""

import importlib


class OnFirstUse:
    """A module that is imported when an attribute of it is first read or set.

    Args:
        name: of the module, as `import` takes it.
    """

    # No `__dict__`: monkeypatch would take its entries for the module's.
    __slots__ = ("name_of_module",)

    def __init__(self, name):
        object.__setattr__(self, "name_of_module", name)

    def __getattr__(self, attribute):
        if attribute.startswith("_") and attribute != "__version__":
            raise AttributeError(attribute)  # pytest looks for marks on everything that a test file holds
        return getattr(importlib.import_module(self.name_of_module), attribute)

    def __setattr__(self, attribute, value):
        setattr(importlib.import_module(self.name_of_module), attribute, value)

    def __delattr__(self, attribute):
        delattr(importlib.import_module(self.name_of_module), attribute)


datasets = OnFirstUse("datasets")
diffusers = OnFirstUse("diffusers")
evaluate = OnFirstUse("evaluate")
gradio = OnFirstUse("gradio")
open_clip = OnFirstUse("open_clip")
peft = OnFirstUse("peft")
sentence_transformers = OnFirstUse("sentence_transformers")
torch = OnFirstUse("torch")
torchvision = OnFirstUse("torchvision")
transformers = OnFirstUse("transformers")
