"""Takes a conversation over from the AI, and says what that stopped.

    BATON=http://127.0.0.1:8080 TOKEN=… python3 take_over.py 6580000001@c.us
"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

BATON = os.environ.get("BATON", "http://127.0.0.1:8080")
TOKEN = os.environ["TOKEN"]
CHANNEL = os.environ.get("CHANNEL", "default")


def take_over(chat: str) -> dict:
    path = f"/api/v1/channels/{urllib.parse.quote(CHANNEL)}/chats/{urllib.parse.quote(chat)}/mode"
    request = urllib.request.Request(
        BATON + path,
        method="PUT",
        data=json.dumps({"mode": "HUMAN"}).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    try:
        # It waits for a send that is under way: BATON_SETTLE_MS, ten seconds unless set.
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"refused: {error.code} {error.read().decode()}") from error


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    receipt = take_over(sys.argv[1])
    print("HUMAN, version", receipt["mode_version"], "" if receipt["changed"] else "(it was before)")
    if receipt["generation_cancelled"]:
        print("an answer was being written: stopped")
    if receipt["parts_discarded"]:
        print(receipt["parts_discarded"], "messages were waiting to leave: withdrawn")
    if receipt["parts_already_sent"]:
        print(receipt["parts_already_sent"], "parts of that answer had left")
    if receipt["at_provider"]:
        print(len(receipt["at_provider"]), "are with the provider already and may still arrive")
    if receipt["settled"]:
        print("settled: nothing that the AI wrote before leaves any more")
    else:
        # Not a failure: nothing more is posted, but these may have been.
        print("not settled yet; their fate is open:", json.dumps(receipt["in_flight"]))
