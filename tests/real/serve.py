"""Serves an application on a free port of loopback until stdin ends; prints its URL first."""

import socket
import sys
import threading

import uvicorn


def serve(app, path):
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))

    def until_eof():
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=until_eof, daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    server.run(sockets=[listener])
