"""Traces of forward passes as frozen values (attention layer, block, model), and the recorder behind them."""
