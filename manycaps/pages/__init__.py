"""The demo pages of the modules and of `manycaps compare`: what a folder's `app.py` builds and serves, by gradio."""
