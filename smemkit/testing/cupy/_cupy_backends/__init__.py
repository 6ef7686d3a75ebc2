"""cupy_backends: the part that tests of raw kernels import."""
