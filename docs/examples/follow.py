"""Prints what happens, as it happens, and misses nothing: also not what happened while this program was away.

    BATON=http://127.0.0.1:8080 TOKEN=… python3 follow.py place.txt

The file keeps the id of the last event that was dealt with.
"""

import json
import os
import pathlib
import sys
import time
import urllib.error
import urllib.request

BATON = os.environ.get("BATON", "http://127.0.0.1:8080")
TOKEN = os.environ["TOKEN"]
# A comment comes every 15 seconds: whoever hears nothing for longer is cut off.
SILENCE = 40


def frames(answer):
    """One dict for each event of the stream."""
    frame = {}
    for line in answer:
        text = line.decode().rstrip("\r\n")
        if not text:
            if frame:
                yield frame
            frame = {}
        elif not text.startswith(":"):
            field, _, value = text.partition(":")
            value = value.removeprefix(" ")
            frame[field] = f"{frame[field]}\n{value}" if field in frame else value


def follow(place: pathlib.Path, deal_with) -> None:
    while True:
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream"}
        if place.exists():
            headers["Last-Event-ID"] = place.read_text().strip()
        try:
            request = urllib.request.Request(f"{BATON}/api/v1/events", headers=headers)
            with urllib.request.urlopen(request, timeout=SILENCE) as answer:
                for frame in frames(answer):
                    if frame.get("event") == "resync":
                        print("what was missed cannot be told any more: load the lists again", file=sys.stderr)
                    # An id alone is only a place: much has happened that is not for this token.
                    elif "data" in frame and frame.get("event") != "hello":
                        deal_with(json.loads(frame["data"]))
                    # Only now: whoever dies before this gets the event again.
                    if "id" in frame:
                        place.write_text(frame["id"])
        except urllib.error.HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise SystemExit(f"refused: {error.code} {error.read().decode()}") from error
        except OSError as error:
            print(f"cut off ({error}), going on where it was", file=sys.stderr)
        time.sleep(2)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    try:
        follow(
            pathlib.Path(sys.argv[1]),
            lambda event: print(event["at"], event["type"], event["action"] or "", event["conversation_id"] or ""),
        )
    except KeyboardInterrupt:
        pass
