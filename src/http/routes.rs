//! Every route in one list: method, path, who may use it, what answers.

use actix_web::{
    FromRequest, Handler, HttpResponse, Route, guard,
    http::Method,
    middleware::from_fn,
    web::{self, ServiceConfig},
};
use tokio::runtime::Handle;

use super::{
    answer::Answer,
    api::{
        agents, audit, batch, canned_replies, channels, conversations, dead_letters, drafts, events, export,
        follow_ups, labels, live, me, media, messages, modes, qr, sandbox, session, settings, stats, tokens,
        turns, webhook_endpoints,
    },
    auth::{
        Access::{self, Acts, Admin, Metrics, Open, Reads},
        gate::gate,
    },
    dashboard,
    doors::lost,
    health, metrics, pages,
    problem::Problem,
    webhook,
};

/// The list. A more particular path comes before one with a variable in its place.
pub fn routes() -> Vec<Row> {
    let pages = dashboard::PATHS.map(|path| get(path, Open, dashboard::page));
    let mut rows = vec![
        get(dashboard::FILES, Open, dashboard::file),
        get("/docs", Open, pages::docs),
        get("/openapi.json", Open, pages::openapi_json),
        get("/healthz", Open, health::alive),
        get("/readyz", Open, health::ready),
        get("/metrics", Metrics, metrics::render),
        // The provider's credentials are checked by the door itself, before it reads the body.
        post_raw("/webhooks/green-api/{channel}", Open, webhook::green_api),
        post("/webhooks/sandbox", Acts, webhook::sandbox),
        post("/api/v1/session", Open, session::sign_in),
        get("/api/v1/session", Reads, session::who),
        delete("/api/v1/session", Reads, session::sign_out),
        get("/api/v1/me", Reads, me::who),
        patch("/api/v1/me", Acts, me::change),
        get("/api/v1/conversations", Reads, conversations::list),
        get("/api/v1/conversations/counts", Reads, conversations::counts),
        post("/api/v1/conversations/batch", Acts, batch::batch),
        get("/api/v1/conversations/{id}", Reads, conversations::one),
        patch("/api/v1/conversations/{id}", Acts, conversations::change),
        delete("/api/v1/conversations/{id}", Admin, conversations::erase),
        post("/api/v1/conversations/{id}/read", Acts, conversations::read),
        delete("/api/v1/conversations/{id}/read", Acts, conversations::unread),
        put("/api/v1/conversations/{id}/mode", Acts, modes::switch),
        put("/api/v1/channels/{channel}/chats/{chat_id}/mode", Acts, modes::switch_chat),
        get("/api/v1/conversations/{id}/live", Reads, live::watch),
        put("/api/v1/conversations/{id}/presence", Acts, live::present),
        get("/api/v1/conversations/{id}/messages", Reads, messages::list),
        post("/api/v1/conversations/{id}/messages", Acts, messages::say),
        post("/api/v1/conversations/{id}/messages/batch", Acts, messages::say_all),
        post("/api/v1/channels/{channel}/chats/{chat_id}/messages", Acts, messages::say_to_chat),
        post("/api/v1/conversations/{id}/notes", Acts, messages::note),
        get("/api/v1/messages/{id}", Reads, messages::one),
        get("/api/v1/messages/{id}/media", Reads, media::fetch),
        delete("/api/v1/messages/{id}", Acts, messages::withdraw),
        post("/api/v1/messages/{id}/retry", Acts, messages::retry),
        post("/api/v1/messages/{id}/confirm", Acts, messages::confirm),
        get("/api/v1/conversations/{id}/follow-up", Reads, follow_ups::one),
        put("/api/v1/conversations/{id}/follow-up", Acts, follow_ups::schedule),
        delete("/api/v1/conversations/{id}/follow-up", Acts, follow_ups::call_off),
        get("/api/v1/follow-ups", Reads, follow_ups::list),
        get("/api/v1/conversations/{id}/drafts", Reads, drafts::list),
        post("/api/v1/conversations/{id}/drafts", Acts, drafts::ask),
        post("/api/v1/conversations/{id}/drafts/{draft_id}/send", Acts, drafts::send),
        delete("/api/v1/conversations/{id}/drafts/{draft_id}", Acts, drafts::discard),
        get("/api/v1/conversations/{id}/turns", Reads, turns::list),
        get("/api/v1/turns/{id}", Reads, turns::one),
        get("/api/v1/conversations/{id}/timeline", Reads, events::timeline),
        get("/api/v1/events", Reads, events::list),
        get("/api/v1/dead-letters", Reads, dead_letters::list),
        delete("/api/v1/dead-letters/{id}", Admin, dead_letters::discard),
        post("/api/v1/dead-letters/{id}/retry", Admin, dead_letters::retry),
        get("/api/v1/export/messages.csv", Admin, export::messages),
        get("/api/v1/export/messages.jsonl", Admin, export::lines),
        get("/api/v1/channels", Reads, channels::list),
        post("/api/v1/channels", Admin, channels::add),
        get("/api/v1/channels/{name}", Reads, channels::one),
        patch("/api/v1/channels/{name}", Admin, channels::change),
        delete("/api/v1/channels/{name}", Admin, channels::remove),
        post("/api/v1/channels/{name}/release-brake", Admin, channels::release_brake),
        get("/api/v1/channels/{name}/qr", Admin, qr::qr),
        get("/api/v1/agents", Reads, agents::list),
        post("/api/v1/agents", Admin, agents::add),
        get("/api/v1/agents/{id}", Reads, agents::one),
        patch("/api/v1/agents/{id}", Admin, agents::change),
        post("/api/v1/agents/{id}/link", Admin, agents::link),
        get("/api/v1/labels", Reads, labels::list),
        post("/api/v1/labels", Admin, labels::add),
        get("/api/v1/labels/{name}", Reads, labels::one),
        patch("/api/v1/labels/{name}", Admin, labels::change),
        delete("/api/v1/labels/{name}", Admin, labels::remove),
        // Shared ones are the admin's: the routes themselves see which they are.
        get("/api/v1/canned-replies", Reads, canned_replies::list),
        post("/api/v1/canned-replies", Acts, canned_replies::add),
        get("/api/v1/canned-replies/{id}", Reads, canned_replies::one),
        patch("/api/v1/canned-replies/{id}", Acts, canned_replies::change),
        delete("/api/v1/canned-replies/{id}", Acts, canned_replies::remove),
        get("/api/v1/tokens", Admin, tokens::list),
        post("/api/v1/tokens", Admin, tokens::create),
        get("/api/v1/tokens/{id}", Admin, tokens::one),
        delete("/api/v1/tokens/{id}", Admin, tokens::revoke),
        get("/api/v1/webhook-endpoints", Admin, webhook_endpoints::list),
        post("/api/v1/webhook-endpoints", Admin, webhook_endpoints::add),
        get("/api/v1/webhook-endpoints/{id}", Admin, webhook_endpoints::one),
        patch("/api/v1/webhook-endpoints/{id}", Admin, webhook_endpoints::change),
        delete("/api/v1/webhook-endpoints/{id}", Admin, webhook_endpoints::remove),
        post("/api/v1/webhook-endpoints/{id}/rotate-secret", Admin, webhook_endpoints::rotate_secret),
        post("/api/v1/webhook-endpoints/{id}/test", Admin, webhook_endpoints::test),
        get("/api/v1/webhook-endpoints/{id}/deliveries", Admin, webhook_endpoints::deliveries),
        post(
            "/api/v1/webhook-endpoints/{id}/deliveries/{delivery_id}/retry",
            Admin,
            webhook_endpoints::retry,
        ),
        get("/api/v1/stats", Reads, stats::stats),
        get("/api/v1/settings", Admin, settings::list),
        get("/api/v1/audit", Admin, audit::list),
        get("/api/v1/sandbox", Reads, sandbox::behaviour),
        patch("/api/v1/sandbox", Admin, sandbox::behave),
        get("/api/v1/sandbox/chats/{chat_id}", Reads, sandbox::screen),
        post("/api/v1/sandbox/chats/{chat_id}/phone-message", Acts, sandbox::phone_message),
    ];
    rows.extend(pages);
    rows
}

/// One of them.
pub struct Row {
    /// The method. GET stands for HEAD too.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
    mount: Mount,
}

/// Puts what answers into its route.
type Mount = Box<dyn FnOnce(Route, &Handle) -> Route>;

/// What most routes are: work for the main runtime.
trait Work<Args>: Handler<Args, Output = Result<Answer, Problem>, Future: Send + 'static> {}

impl<H, Args> Work<Args> for H where H: Handler<Args, Output = Result<Answer, Problem>, Future: Send + 'static>
{}

fn row<Args: FromRequest + 'static>(
    method: Method,
    path: &'static str,
    access: Access,
    work: impl Work<Args>,
) -> Row {
    let mount = move |route: Route, main: &Handle| route.to(OnMain { work, main: main.clone() });
    Row { method, path, access, mount: Box::new(mount) }
}

fn get<Args: FromRequest + 'static>(path: &'static str, access: Access, work: impl Work<Args>) -> Row {
    row(Method::GET, path, access, work)
}

fn post<Args: FromRequest + 'static>(path: &'static str, access: Access, work: impl Work<Args>) -> Row {
    row(Method::POST, path, access, work)
}

fn put<Args: FromRequest + 'static>(path: &'static str, access: Access, work: impl Work<Args>) -> Row {
    row(Method::PUT, path, access, work)
}

fn patch<Args: FromRequest + 'static>(path: &'static str, access: Access, work: impl Work<Args>) -> Row {
    row(Method::PATCH, path, access, work)
}

fn delete<Args: FromRequest + 'static>(path: &'static str, access: Access, work: impl Work<Args>) -> Row {
    row(Method::DELETE, path, access, work)
}

/// One that reads its own body, and so begins on the server's thread.
fn post_raw<Args, H>(path: &'static str, access: Access, handler: H) -> Row
where
    Args: FromRequest + 'static,
    H: Handler<Args, Output = HttpResponse>,
{
    let mount = move |route: Route, _: &Handle| route.to(handler);
    Row { method: Method::POST, path, access, mount: Box::new(mount) }
}

/// Runs a handler on the main runtime, to its end even if the client goes away; a panic in it is an answer too.
#[derive(Clone)]
struct OnMain<H> {
    work: H,
    main: Handle,
}

impl<H: Work<Args>, Args> Handler<Args> for OnMain<H> {
    type Output = Result<Answer, Problem>;
    type Future = std::pin::Pin<Box<dyn Future<Output = Self::Output>>>;

    fn call(&self, args: Args) -> Self::Future {
        let work = self.main.spawn(self.work.call(args));
        Box::pin(async move { work.await.unwrap_or_else(|error| Err(lost(&error))) })
    }
}

/// Puts all of them into a server.
pub fn mount(config: &mut ServiceConfig, main: &Handle) {
    let mut rows = routes();
    while let Some(path) = rows.first().map(|row| row.path) {
        let (here, rest): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.path == path);
        rows = rest;
        let allow = here.iter().map(|row| allowed(&row.method)).collect::<Vec<_>>().join(", ");
        let mut resource = web::resource(path);
        for row in here {
            resource = resource.route(mount_row(row, main));
        }
        config.service(resource.default_service(web::to(move || {
            let problem = Problem::method_not_allowed(allow.clone());
            async { problem }
        })));
    }
    config.default_service(web::to(dashboard::nowhere));
}

fn allowed(method: &Method) -> &str {
    if *method == Method::GET { "GET, HEAD" } else { method.as_str() }
}

fn mount_row(row: Row, main: &Handle) -> Route {
    let route = if row.method == Method::GET {
        web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
    } else {
        web::method(row.method)
    };
    let route = (row.mount)(route, main);
    match row.access {
        Access::Open => route,
        access => route.wrap(from_fn(move |request, next| gate(access, request, next))),
    }
}
