"""Tools of your own, those of tools.json: says where an order is, and books tables.

    ASKED=whsec_… TOLD=whsec_… python3 tools.py 9000

ASKED is the BATON_AI_TOOLS_SECRET with which Baton asks at /order_status, TOLD the secret of the webhook endpoint
http://127.0.0.1:9000/told, which is told of `tool_called`.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Whose it is comes from Baton, never from the model: customers may ask for any number.
ORDERS = {"1007": {"phone": "+6580000001", "status": "on its way"}}
# Keep this where a restart does not lose it.
BOOKED = set()


def is_batons(secret: str, headers, body: bytes) -> bool:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "0")
    wanted = "v1," + base64.b64encode(hmac.new(key, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(one, wanted) for one in given) and abs(time.time() - int(at)) <= 300


def order_status(asked: dict) -> dict:
    order = ORDERS.get(str(asked["arguments"]["order"]))
    if order is None or order["phone"] != asked["phone"]:
        return {"error": "this customer has no such order"}
    return {"status": order["status"]}


def book(id: str, event: dict) -> None:
    """Told at least once: whoever keeps the ids does it once."""
    if event["details"]["tool"] == "book_table" and id not in BOOKED:
        BOOKED.add(id)
        wanted, chat = event["details"]["arguments"], event["conversation"]["chat_id"]
        print(f"a table for {wanted['guests']} at {wanted['at']}, for {chat}", flush=True)


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        secret = os.environ["TOLD" if self.path == "/told" else "ASKED"]
        if not is_batons(secret, self.headers, body):
            return self.send_error(401)
        posted = json.loads(body)
        if self.path == "/told":
            if posted["type"] == "tool_called":
                book(self.headers["webhook-id"], posted["data"])
            answer = {}
        else:
            answer = order_status(posted)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        try:
            self.wfile.write(json.dumps(answer).encode())
        except ConnectionError:
            # Baton has hung up: a newer message came, or a person took over.
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
