"""Green API's client at the simulator: settings, a message there, a notification back, a file."""

import json
import sys
import tempfile
import urllib.request
from pathlib import Path

from whatsapp_api_client_python.API import GreenAPI, GreenAPIError

host, instance, token, chat = sys.argv[1:]
api = GreenAPI(instance, token, host=host, media=host, raise_errors=True)

assert api.account.getStateInstance().data == {"stateInstance": "authorized"}
settings = api.account.getSettings().data
assert settings["incomingWebhook"] == "no", settings
assert api.account.setSettings({"incomingWebhook": "yes"}).data == {"saveSettings": True}
assert api.account.getSettings().data["incomingWebhook"] == "yes"

sent = api.sending.sendMessage(chat, "We have two sizes").data["idMessage"]
found = api.journals.getMessage(chat, sent).data
assert found["textMessage"] == "We have two sizes" and found["sendByApi"] is True, found
assert [message["idMessage"] for message in api.journals.lastOutgoingMessages(5).data] == [sent]
assert api.queues.showMessagesQueue().data == []

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "prices.txt"
    path.write_text("280 ml: 20")
    file = api.sending.sendFileByUpload(chat, str(path), "prices.txt", "Our prices").data
assert urllib.request.urlopen(file["urlFile"]).read() == b"280 ml: 20", file

written = json.dumps({"chatId": chat, "name": "Mei", "text": "Hi"}).encode()
urllib.request.urlopen(urllib.request.Request(f"{host}/simulator/contact", data=written))
received = api.receiving.receiveNotification(5).data
assert received["body"]["typeWebhook"] == "incomingMessageReceived", received
assert received["body"]["messageData"]["textMessageData"]["textMessage"] == "Hi", received
assert api.receiving.deleteNotification(received["receiptId"]).data["result"] is True
assert api.receiving.deleteNotification(received["receiptId"]).data["result"] is False
assert api.marking.readChat(chat).data == {"setRead": True}

try:
    api.sending.sendMessage("nobody", "Hi")
except GreenAPIError as error:
    assert "400" in str(error) and "chatId" in str(error), error
else:
    raise AssertionError("a chat that is none was taken")
