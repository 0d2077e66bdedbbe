"""The commands of `manycaps`: each file declares a command line, and imports what does the work when it runs."""
