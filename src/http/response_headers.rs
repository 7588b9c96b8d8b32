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

/// The policy of pages and their files. Nothing from elsewhere is loaded, and nothing that is not a file of ours is run: a
/// text that was meant to be a script stays a text.
pub(super) const PAGES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self'; connect-src 'self'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'";

/// That of answers, which are no pages: whoever opens one as a page sees it, and it does nothing.
const ANSWERS: &str = "default-src 'none'; frame-ancestors 'none'";

/// Set unless the route has set its own, as the policy is.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
];

/// Around every route.
pub(super) async fn add_headers<B: MessageBody + 'static>(
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
    let policy = (header::CONTENT_SECURITY_POLICY, if is_work { ANSWERS } else { PAGES });
    for (name, value) in HEADERS.into_iter().chain([policy]) {
        if !response.headers().contains_key(&name) {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    }
    Ok(response)
}
