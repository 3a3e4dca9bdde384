"""Training small models: the tasks, the training loop, and the records of a run. Does not import Streamlit."""
