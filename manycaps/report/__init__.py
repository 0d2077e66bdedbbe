"""The diversity report: caption files, figures, plots and the page."""
