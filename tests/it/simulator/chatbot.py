"""A bot of Green API's own library at the simulator: it says what it is told."""

import sys

from whatsapp_chatbot_python import GreenAPIBot, Notification

host, instance, token, _ = sys.argv[1:]
bot = GreenAPIBot(
    instance, token, host=host, media=host, raise_errors=True, delete_notifications_at_startup=False
)


@bot.router.message()
def echo(notification: Notification) -> None:
    notification.answer(notification.message_text)


bot.run_forever()
