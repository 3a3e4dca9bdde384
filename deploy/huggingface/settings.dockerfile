
# What deploy/huggingface/make adds for a Space: its port, who may embed it, and whose X-Forwarded-For is true.
ENV PORT=7860 ATTNVIZ_TRUSTED_PROXIES=10.0.0.0/8 ATTNVIZ_FRAME_ANCESTORS="'self',https://huggingface.co"
EXPOSE 7860
