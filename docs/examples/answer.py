"""Answers in the model's place, for BATON_AI_PROVIDER=http.

    SECRET=whsec_… python3 answer.py 9000

Baton finds it with BATON_AI_BASE_URL=http://127.0.0.1:9000/ and the same secret as BATON_AI_API_KEY. Who asks for a person gets
one; anybody else is told what they wrote. What you would say instead goes into `answer`.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))


def is_batons(headers, body: bytes) -> bool:
    id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "0")
    tag = hmac.new(KEY, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
    is_signed = hmac.compare_digest(headers.get("webhook-signature", ""), "v1," + base64.b64encode(tag).decode())
    return is_signed and abs(time.time() - int(at)) <= 300


def answer(asked: dict):
    """Piece by piece; the last one is done."""
    said = [message["text"] for message in asked["messages"] if message["role"] == "contact"]
    if asked["tools"] and "person" in said[-1]:
        yield {"text": "A colleague will be with you."}
        yield {"calls": [{"name": "hand_over", "arguments": {"reason": "asked for a person"}}]}
    else:
        words = f"{asked['contact_name'] or 'Somebody'} wrote: {said[-1] if said else 'nothing'}"
        for word in words.split():
            yield {"text": word + " "}
    yield {"done": True}


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not is_batons(self.headers, body):
            return self.send_error(401)
        asked = json.loads(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if asked["type"] == "check":
            return
        try:
            for piece in answer(asked):
                self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
        except ConnectionError:
            # Baton has hung up: nobody wants this answer any more.
            pass


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
