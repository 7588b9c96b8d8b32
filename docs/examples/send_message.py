"""Sends one message, exactly once, whatever happens on the way.

    BATON=http://127.0.0.1:8080 TOKEN=… python3 send_message.py 6580000001@c.us "Your order is ready." order-4711-ready

The last word is the Idempotency-Key: what the message is about, the same for every try. A program that dies between two tries is
started again with the same words, and the contact hears of it once.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

BATON = os.environ.get("BATON", "http://127.0.0.1:8080")
TOKEN = os.environ["TOKEN"]
CHANNEL = os.environ.get("CHANNEL", "default")
TRIES = 8


def send(chat: str, text: str, key: str) -> dict:
    path = f"/api/v1/channels/{urllib.parse.quote(CHANNEL)}/chats/{urllib.parse.quote(chat)}/messages"
    request = urllib.request.Request(
        BATON + path,
        data=json.dumps({"text": text}).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Idempotency-Key": key},
    )
    for attempt in range(TRIES):
        wait = min(2**attempt, 60)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            # Busy, or restarting: it says when to come back. Anything else would be refused again.
            if error.code not in (429, 502, 503, 504):
                raise SystemExit(f"refused: {error.code} {error.read().decode()}") from error
            wait = int(error.headers.get("Retry-After", wait))
        except OSError as error:
            # Whether it arrived is not known. With the key, asking again is harmless.
            print(f"no answer ({error}), again in {wait} s", file=sys.stderr)
        time.sleep(wait)
    raise SystemExit("Baton does not answer")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    message = send(*sys.argv[1:])
    print(message["id"], message["delivery"]["state"])
    if message["takeover"]:
        print("taken over from the AI, version", message["takeover"]["mode_version"])
