"""cupy_backends.cuda."""
