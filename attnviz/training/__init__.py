"""Training small models: tasks, the loop, and what is kept of a run. It imports no Streamlit."""
