//! The doors: every route of Baton. Requests come in over HTTP; what they mean goes to the flow, what it answers goes
//! out as JSON. Nothing is decided here but who may ask.

pub mod routes;

pub mod ports;

pub mod doors;

mod response_headers;

mod unread_body;

pub mod site;

pub mod names;

pub mod count_cache;

pub mod auth;

mod read;

mod answer;

mod idempotent;

pub mod problem;

pub(crate) mod wire;

mod webhook;

mod api;

pub mod feed;

mod listener;

mod shares;

mod stream;

mod live;

mod csv;

mod view;

pub mod webhook_body;

mod health;

mod metrics;

pub mod openapi;

mod pages;

mod cors;

mod dashboard;

#[cfg(test)]
mod tests;

use std::{any::Any, io, net::TcpListener, sync::Arc, time::Duration};

use actix_web::{
    App, Error, HttpServer,
    body::BoxBody,
    dev::{Server, ServiceFactory, ServiceRequest, ServiceResponse},
    middleware::from_fn,
    rt::net::TcpStream,
    web::{Data, PathConfig},
};

use self::{doors::Doors, problem::Problem};
/// What is counted at the doors begins at 0.
pub fn count_from_zero() {
    webhook::count_from_zero();
    stream::count_from_zero();
}

/// A request's head must have arrived within this time.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// A connection without a request is kept for this long.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// What was written and nobody reads, or nobody says was received, ends its connection after so long.
const UNREAD_MS: u32 = 60_000;

/// A server for these doors on that listener. It handles no signals: who stops it cancels `stopping` first, which ends
/// the live feeds, and then waits at most `grace` for the requests in hand.
pub fn serve(doors: Arc<Doors>, listener: TcpListener, grace: Duration) -> io::Result<Server> {
    Ok(HttpServer::new(move || app(Arc::clone(&doors)))
        .on_connect(|connection, _| limit(connection))
        .keep_alive(KEEP_ALIVE)
        .client_request_timeout(HEAD_WITHIN)
        .shutdown_timeout(grace.as_secs().max(1))
        .disable_signals()
        .listen(listener)?
        .run())
}

/// An answer waits in memory until it is read: whoever asks and never reads may not have it wait for ever.
fn limit(connection: &dyn Any) {
    // Elsewhere there is no such limit.
    #[cfg(target_os = "linux")]
    if let Some(stream) = connection.downcast_ref::<TcpStream>()
        && let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, UNREAD_MS)
    {
        tracing::debug!(%error, "a connection has no limit of its own");
    }
}

/// All routes, as one server thread has them.
fn app(
    doors: Arc<Doors>,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    >,
> {
    let main = doors.main.clone();
    let cors = cors::cors(&doors.cors_origins);
    App::new()
        .wrap(from_fn(response_headers::add_headers))
        .wrap(cors)
        .wrap(from_fn(unread_body::ends_the_connection))
        .app_data(Data::from(doors))
        // A path whose id is none leads nowhere.
        .app_data(PathConfig::default().error_handler(|_, _| Problem::not_found().into()))
        .configure(move |config| routes::mount(config, &main))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod limits {
    use super::*;

    #[tokio::test]
    async fn a_connection_has_a_limit_for_what_nobody_reads() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let client = tokio::net::TcpStream::connect(address);
        let (client, served) = tokio::join!(client, listener.accept());
        let (_client, (served, _)) = (client.expect("connects"), served.expect("accepts"));
        limit(&served);
        assert_eq!(rustix::net::sockopt::tcp_user_timeout(&served).expect("told"), UNREAD_MS);
    }
}
