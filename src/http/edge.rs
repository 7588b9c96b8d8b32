//! What every response has in common, and what is answered while the process stops.

use actix_web::{
    Error,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderName, HeaderValue},
    middleware::Next,
    web::Data,
};

use super::{doors::Doors, problem::Problem};

/// Set unless the route has set its own.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
];

/// Around every route.
pub(super) async fn edge<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let is_work = request.path().starts_with("/api/") || request.path().starts_with("/webhooks/");
    let is_stopping = request.app_data::<Data<Doors>>().is_some_and(|doors| doors.stopping.is_cancelled());
    let mut response = if is_work && is_stopping {
        request.into_response(Problem::unavailable("the server is stopping").respond())
    } else {
        next.call(request).await?.map_into_boxed_body()
    };
    for (name, value) in HEADERS {
        if !response.headers().contains_key(&name) {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    }
    Ok(response)
}
