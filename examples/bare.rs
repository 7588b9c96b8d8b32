//! A web server that answers a webhook as Baton does and does nothing else with it: no server on the same framework can
//! be faster. `cargo xtask bench` measures it beside Baton.
//!
//! In: a port, and webhooks. Out: 200 for each.

use actix_web::{
    App, HttpResponse, HttpServer,
    rt::System,
    web::{Bytes, to},
};

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let port: u16 = port.ok_or_else(|| std::io::Error::other("a port must be named"))?;
    let server = || HttpServer::new(|| App::new().default_service(to(take))).bind(("127.0.0.1", port));
    System::new().block_on(async { server()?.run().await })
}

async fn take(_: Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(r#"{"status":"accepted"}"#)
}
