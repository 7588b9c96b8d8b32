//! The HTTP side: reads calls, lets the account answer, and lets the answer travel well or badly.

use std::{
    any::Any,
    collections::HashMap,
    io,
    net::{self, TcpListener},
    os::fd::AsFd as _,
    sync::Arc,
    time::Duration,
};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    dev::{Extensions, Server},
    http::StatusCode,
    rt,
    web::{self, Data, Payload, Query},
};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    Shared,
    account::{Answer, Call, Travel},
    control, upload,
};

/// A request that is cut off there. Uploads may be longer.
const JSON_MAX_BYTES: usize = 100 * 1024;

/// Who waits for an answer that does not come waits so long, if they can.
const HANG: Duration = Duration::from_secs(180);

const PAGE: &str = "<html><body><h1>This is a page, and no answer of the gateway</h1></body></html>";

pub(super) fn serve(shared: Arc<Shared>, listener: TcpListener) -> io::Result<Server> {
    let app = move || {
        App::new()
            .app_data(Data::from(Arc::clone(&shared)))
            .configure(control::mount)
            .default_service(web::to(answer))
    };
    Ok(HttpServer::new(app)
        .on_connect(hold)
        .workers(2)
        .shutdown_timeout(1)
        .disable_signals()
        .listen(listener)?
        .run())
}

async fn answer(request: HttpRequest, payload: Payload, shared: Data<Shared>) -> HttpResponse {
    let Some(mut call) = addressed(&request) else { return response(Answer::Page(404)) };
    if upload::is_upload(&call.method) {
        upload::read(&request, payload, &mut call).await;
    } else {
        match payload.to_bytes_limited(JSON_MAX_BYTES).await {
            Ok(Ok(bytes)) => read_json(&bytes, &mut call),
            Ok(Err(_)) => return response(Answer::Page(400)),
            Err(_) => {
                let words = serde_json::json!({ "message": "request entity too large" });
                return response(Answer::Json(500, words));
            }
        }
    }
    let (answer, travel) = shared.change(|account, now| account.call(&Call { now, ..call }));
    match travel {
        Travel::Well => {}
        Travel::After(ms) => sleep(Duration::from_millis(ms)).await,
        Travel::Never => {
            sleep(HANG).await;
            return broken(&request);
        }
        Travel::Breaks => return broken(&request),
    }
    match answer {
        Answer::Later(seconds) => response(Answer::Json(200, fetched(&shared, seconds).await)),
        answer => response(answer),
    }
}

/// The call, as far as its address says: `/waInstance{instance}/{method}/{token}`, and a receipt of some.
fn addressed(request: &HttpRequest) -> Option<Call> {
    let path = request.path().to_owned();
    let mut parts = path.strip_prefix("/waInstance")?.split('/').map(str::to_owned);
    let (instance, method, token) = (parts.next()?, parts.next()?, parts.next()?);
    let receipt = parts.next();
    if parts.next().is_some() {
        return None;
    }
    let query = Query::<HashMap<String, String>>::from_query(request.query_string());
    Some(Call {
        now: 0,
        verb: request.method().to_string(),
        instance,
        method,
        token,
        receipt,
        query: query.map(Query::into_inner).unwrap_or_default(),
        broken: None,
        body: Map::new(),
        file: None,
        base: format!("http://{}", request.connection_info().host()),
        path,
    })
}

/// No body is an empty one; what is no object says nothing.
fn read_json(bytes: &[u8], call: &mut Call) {
    if bytes.is_empty() {
        return;
    }
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(body)) => call.body = body,
        Ok(_) => {}
        Err(error) => call.broken = Some(format!("Unexpected token in JSON at position {}", error.column())),
    }
}

/// The next notification, as soon as there is one; null, if none comes in time.
async fn fetched(shared: &Shared, seconds: u64) -> Value {
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut changes = shared.changes.subscribe();
    loop {
        changes.mark_unchanged();
        let next = shared.account().fetched();
        if !next.is_null() || timeout_at(until, changes.changed()).await.is_err() {
            return next;
        }
    }
}

fn response(answer: Answer) -> HttpResponse {
    let with =
        |status: u16| HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY));
    match answer {
        Answer::Json(status, value) => with(status).json(value),
        Answer::Empty(status) => with(status).finish(),
        Answer::Page(status) => with(status).content_type("text/html").body(PAGE),
        Answer::Later(_) => with(200).json(Value::Null),
    }
}

/// The connection of a request, to be broken.
struct Line(net::TcpStream);

fn hold(line: &dyn Any, data: &mut Extensions) {
    if let Some(line) = line.downcast_ref::<rt::net::TcpStream>()
        && let Ok(held) = line.as_fd().try_clone_to_owned()
    {
        data.insert(Line(held.into()));
    }
}

/// Nothing of what is answered then gets to who asked.
fn broken(request: &HttpRequest) -> HttpResponse {
    if let Some(Line(line)) = request.conn_data::<Line>() {
        // If they have hung up already, it is broken as well.
        let _ = line.shutdown(net::Shutdown::Both);
    }
    response(Answer::Empty(200))
}
