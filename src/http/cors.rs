//! Pages of one's own on other origins, which show a token: `BATON_CORS_ORIGINS`. A cookie never comes along from there.

use actix_cors::Cors;
use actix_web::{
    http::{
        Method,
        header::{self, HeaderName},
    },
    middleware::{Compat, Condition},
};

/// A browser asks again whether it may after this.
const MAX_AGE_S: usize = 600;

/// Lets pages of these origins read what they are answered.
pub(super) fn cors(origins: &[String]) -> Compat<Condition<Cors>> {
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let cors = Cors::default()
        .allowed_methods(methods)
        .allowed_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::RANGE,
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("last-event-id"),
        ])
        .expose_headers([header::LOCATION, header::RETRY_AFTER, header::CONTENT_RANGE])
        .max_age(MAX_AGE_S);
    let cors = origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin));
    Compat::new(Condition::new(!origins.is_empty(), cors))
}
