"""Forward passes of pretrained models on another machine: a deployment of Ray Serve, and what asks it.

The web server needs nothing of Ray to ask over HTTP. Where the service can't help, a pass runs in the web server.
"""
