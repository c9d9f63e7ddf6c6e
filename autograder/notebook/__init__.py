"""The student's side: checks, hints, progress and pictures in a notebook, and pytest on one."""

import warnings

# tqdm says how to install ipywidgets; without them it draws its bars as text.
warnings.filterwarnings("ignore", message="IProgress not found")
