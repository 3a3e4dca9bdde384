"""A page of many messages, a component with a state and a trigger, and, where the link asks, a pause or an error."""

import time

import streamlit as st

for line in range(15):
    st.text(f"line {line}")
if "pause" in st.query_params:
    time.sleep(float(st.query_params["pause"]))
component = st.components.v2.component("echo", html="<p></p>", js="export default () => {}")
component(key="echo", default={"held": 1}, on_sent_change=lambda: None, on_held_change=lambda: None)
values = st.session_state["echo"]
st.text(repr((sorted(values.items()), values.sent, values.held, values.unknown)))
if "error" in st.query_params:
    raise RuntimeError("as asked")
