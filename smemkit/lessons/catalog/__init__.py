"""The exercises, one file each: tour_guard.py is the exercise "tour.guard".

A file defines TASK, a smemkit.lessons._task.Task; its docstring says what each part is. To add an
exercise, add a file. Its notebook and number give it a place at the end of a notebook, where
`python -m smemkit dev docs` writes it. Tests judge its start, its solution and its mistakes.
"""
