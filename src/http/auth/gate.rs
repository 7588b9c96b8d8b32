//! The gate before a route: lets those through who may use it, and tells it who they are.

use std::{sync::Arc, time::Duration};

use actix_web::{
    Error, HttpMessage, HttpRequest,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{Method, header},
    middleware::Next,
    web::Data,
};
use tokio::time::Instant;

use super::{Access, Caller, Shown};
use crate::http::{doors::Doors, problem::Problem, site::SESSION};

/// A body that is there within this time leaves no doubt who asks.
const NO_TIME: Duration = Duration::from_millis(100);

/// Before a route that is not open.
pub(in crate::http) async fn gate<B: MessageBody + 'static>(
    access: Access,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    match admit(access, &request).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.call(request).await.map(ServiceResponse::map_into_boxed_body)
        }
        Err(problem) => Ok(request.into_response(problem.respond())),
    }
}

async fn admit(access: Access, request: &ServiceRequest) -> Result<Caller, Problem> {
    let doors = request.app_data::<Data<Doors>>().cloned().ok_or_else(Problem::internal)?.into_inner();
    let shown = shown(request)?;
    let is_browser = matches!(shown, Shown::Cookie(_));
    let behind = Arc::clone(&doors);
    let caller = doors.run(async move { behind.auth.caller(shown).await }).await.flatten()?;
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
    if is_browser && is_change && !doors.site.is_asked_by_our_page(request.headers()) {
        return Err(Problem::forbidden("a session changes things only from Baton's own pages"));
    }
    if caller.may(access) { Ok(caller) } else { Err(Problem::forbidden(access.in_words())) }
}

/// Whoever keeps us waiting for the body may have been let go since the head: what they ask for is then not done.
pub(in crate::http) async fn require_still_known(
    request: &HttpRequest,
    since: Instant,
) -> Result<(), Problem> {
    let caller = request.extensions().get::<Caller>().cloned();
    let Some(caller) = caller.filter(|_| since.elapsed() >= NO_TIME) else { return Ok(()) };
    let doors = request.app_data::<Data<Doors>>().cloned().ok_or_else(Problem::internal)?.into_inner();
    let behind = Arc::clone(&doors);
    let is_known = doors.run(async move { behind.auth.still_knows(&caller).await }).await?;
    if is_known { Ok(()) } else { Err(Problem::unauthorized()) }
}

/// A bearer token comes before the cookie, which a browser sends without being asked.
fn shown(request: &ServiceRequest) -> Result<Shown, Problem> {
    let shown = match request.headers().get(header::AUTHORIZATION) {
        Some(value) => value.to_str().ok().and_then(bearer).map(|token| Shown::Token(token.to_owned())),
        None => request.cookie(SESSION).map(|cookie| Shown::Cookie(cookie.value().to_owned())),
    };
    shown.ok_or_else(Problem::unauthorized)
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
