"""Pages and plots of reports: HTML that makes no request to the network."""
