//! Every method that is served: its verb, how often a second it may be called, what it takes, what answers it. What is not in
//! the list does not exist.

use super::{
    Account,
    answer::{Answer, Call},
    faults::Travel,
    fields::{Field, Kind, complaint, may, must},
    settings,
};

/// One method.
pub(super) struct Method {
    pub(super) name: &'static str,
    verb: &'static str,
    /// Not established for all.
    per_second: Option<usize>,
    takes: &'static [Field],
    is_send: bool,
    answer: fn(&mut Account, &Call) -> Answer,
}

type Act = fn(&mut Account, &Call) -> Answer;

const fn get(name: &'static str, answer: Act) -> Method {
    Method { name, verb: "GET", per_second: Some(1), takes: &[], is_send: false, answer }
}

const fn post(name: &'static str, per_second: usize, takes: &'static [Field], answer: Act) -> Method {
    Method { name, verb: "POST", per_second: Some(per_second), takes, is_send: false, answer }
}

/// It puts something into the queue of messages.
const fn send(name: &'static str, takes: &'static [Field], answer: Act) -> Method {
    Method { is_send: true, ..post(name, 50, takes, answer) }
}

impl Method {
    const fn without_limit(self) -> Self {
        Self { per_second: None, ..self }
    }

    const fn limited_to(self, per_second: usize) -> Self {
        Self { per_second: Some(per_second), ..self }
    }

    const fn by_delete(self) -> Self {
        Self { verb: "DELETE", ..self }
    }
}

/// Longest text, caption, and what has no documented end.
const TEXT: Kind = Kind::Text(20_000);
const ANY: Kind = Kind::Text(100_000);
const CHAT: Field = must("chatId", Kind::Chat);
const MESSAGE: Field = must("idMessage", ANY);
const QUOTED: Field = may("quotedMessageId", ANY);
const TYPING: Field = may("typingTime", Kind::Integer(1_000, 20_000));
const PREVIEW: Kind = Kind::Object(&[
    must("title", Kind::Text(300)),
    may("description", Kind::Text(300)),
    may("link", Kind::Text(300)),
    may("urlFile", ANY),
    may("jpegThumbnail", ANY),
]);
const CARD: Kind = Kind::Object(&[
    must("phoneContact", Kind::Integer(1, i64::MAX)),
    may("firstName", ANY),
    may("middleName", ANY),
    may("lastName", ANY),
    may("company", ANY),
]);
const OPTIONS: Kind = Kind::List(2, 12, &[must("optionName", Kind::Text(100))]);
const BUTTON: [Field; 2] = [must("buttonId", ANY), must("buttonText", Kind::Text(25))];
const TYPED_BUTTON: [Field; 3] = [must("type", ANY), BUTTON[0], BUTTON[1]];

/// The fields of a message with buttons such as these.
const fn with_buttons(button: &'static [Field]) -> [Field; 5] {
    [
        CHAT,
        may("header", ANY),
        must("body", TEXT),
        may("footer", ANY),
        must("buttons", Kind::List(1, 3, button)),
    ]
}

const METHODS: &[Method] = &[
    send(
        "sendMessage",
        &[
            CHAT,
            must("message", TEXT),
            QUOTED,
            may("linkPreview", Kind::Flag),
            may("typePreview", ANY),
            may("customPreview", PREVIEW),
            TYPING,
        ],
        Account::send,
    ),
    send(
        "sendFileByUrl",
        &[CHAT, must("urlFile", ANY), must("fileName", ANY), may("caption", TEXT), QUOTED, TYPING],
        Account::send,
    ),
    send(
        "sendFileByUpload",
        &[CHAT, may("fileName", ANY), may("caption", TEXT), QUOTED, TYPING],
        Account::send_upload,
    ),
    post("uploadFile", 50, &[], Account::upload).without_limit(),
    send(
        "sendLocation",
        &[
            CHAT,
            must("latitude", Kind::Number),
            must("longitude", Kind::Number),
            may("nameLocation", ANY),
            may("address", ANY),
            QUOTED,
            TYPING,
        ],
        Account::send,
    ),
    send("sendContact", &[CHAT, must("contact", CARD), QUOTED, TYPING], Account::send),
    send(
        "sendPoll",
        &[
            CHAT,
            must("message", Kind::Text(255)),
            must("options", OPTIONS),
            may("multipleAnswers", Kind::Flag),
            QUOTED,
            TYPING,
        ],
        Account::send,
    ),
    send("sendInteractiveButtons", &with_buttons(&TYPED_BUTTON), Account::send),
    send("sendInteractiveButtonsReply", &with_buttons(&BUTTON), Account::send),
    send(
        "forwardMessages",
        &[CHAT, must("chatIdFrom", Kind::Chat), must("messages", Kind::List(1, 100, &[])), TYPING],
        Account::forward,
    ),
    send("sendTyping", &[CHAT, TYPING, may("typingType", ANY)], Account::show_typing).without_limit(),
    post("readChat", 10, &[CHAT, may("idMessage", ANY)], Account::read_chat),
    post(
        "checkWhatsapp",
        10,
        &[may("phoneNumber", Kind::Integer(0, i64::MAX)), may("chatId", Kind::Chat)],
        Account::check_whatsapp,
    ),
    post("getContactInfo", 1, &[CHAT], Account::contact_info),
    post("getAvatar", 10, &[CHAT], Account::avatar),
    get("getContacts", Account::contacts),
    post("editMessage", 1, &[CHAT, MESSAGE, must("message", TEXT)], Account::edit_message),
    post("deleteMessage", 10, &[CHAT, MESSAGE, may("onlySenderDelete", Kind::Flag)], Account::delete_message),
    post("archiveChat", 10, &[CHAT], Account::archive_chat),
    post("unarchiveChat", 10, &[CHAT], Account::unarchive_chat),
    get("getStateInstance", Account::state_instance),
    get("getStatusInstance", Account::status_instance),
    get("getSettings", Account::get_settings),
    post("setSettings", 1, settings::FIELDS, Account::set_settings),
    get("reboot", Account::reboot),
    get("logout", Account::logout),
    get("qr", Account::qr).limited_to(3),
    get("getWaSettings", Account::wa_settings),
    get("showMessagesQueue", Account::show_messages_queue),
    get("getMessagesCount", Account::messages_count),
    get("clearMessagesQueue", Account::clear_messages_queue),
    get("getWebhooksCount", Account::webhooks_count),
    get("clearWebhooksQueue", Account::clear_webhooks_queue).by_delete(),
    get("lastOutgoingMessages", Account::last_outgoing),
    get("lastIncomingMessages", Account::last_incoming),
    post("getChatHistory", 1, &[CHAT, may("count", Kind::Integer(1, 10_000))], Account::chat_history),
    post("getMessage", 10, &[CHAT, MESSAGE], Account::get_message),
    get("receiveNotification", Account::receive).limited_to(100),
    get("deleteNotification", Account::acknowledge).by_delete().limited_to(100),
    post("downloadFile", 5, &[CHAT, MESSAGE], Account::download_file),
];

/// Methods that were taken back.
const RETIRED: [&str; 3] = ["sendButtons", "sendTemplateButtons", "sendListMessage"];

impl Account {
    /// What a call is answered, and how the answer travels.
    pub(crate) fn call(&mut self, call: &Call) -> (Answer, Travel) {
        let method = match self.admit(call) {
            Ok(method) => method,
            Err(refusal) => return (refusal, Travel::Well),
        };
        let Some(fault) = self.fault_of_call(method.name) else {
            return (self.perform(method, call), Travel::Well);
        };
        let answer = if fault.is_taken() { self.perform(method, call) } else { Answer::Empty(502) };
        (fault.answer(answer), fault.travel())
    }

    /// Whether it is for this account, and for something that is there.
    fn admit(&self, call: &Call) -> Result<&'static Method, Answer> {
        if call.instance != self.options.instance.to_string() || RETIRED.contains(&call.method.as_str()) {
            return Err(Answer::Empty(403));
        }
        if call.token != self.options.token {
            return Err(Answer::Empty(401));
        }
        let is_meant = |method: &&Method| method.name == call.method && method.verb == call.verb;
        let method = METHODS.iter().find(is_meant).ok_or(Answer::Page(404))?;
        let has_receipt = call.receipt.is_some();
        if has_receipt == (method.name == "deleteNotification") { Ok(method) } else { Err(Answer::Page(404)) }
    }

    fn perform(&mut self, method: &Method, call: &Call) -> Answer {
        if self.options.pace.is_limited && self.limits.is_passed(method.name, method.per_second, call.now) {
            return Answer::Empty(429);
        }
        if let Some(broken) = &call.broken {
            return Answer::refused(call, broken);
        }
        if let Some(wrong) = complaint(method.takes, &call.body) {
            return Answer::invalid(call, &wrong);
        }
        let is_change = method.is_send || method.name == "setSettings";
        if self.restart.is_some() && is_change {
            return Answer::refused(call, "instance in starting process try later");
        }
        (method.answer)(self, call)
    }
}
