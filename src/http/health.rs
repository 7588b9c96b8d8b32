//! Whether the process lives, and whether it can work.

use actix_web::{http::StatusCode, web::Data};
use serde::Serialize;
use utoipa::ToSchema;

use super::{answer::Answer, doors::Doors, problem::Problem};

/// The process lives.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Alive {
    /// `ok`.
    status: &'static str,
}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", tag = "Health", responses((status = 200, body = Alive)))]
pub(super) async fn alive() -> Result<Answer, Problem> {
    Ok(Answer::ok(&Alive { status: "ok" }))
}

/// Whether this instance can work.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ready {
    /// `ok`; `degraded` without its Redis, which costs time and nothing else; `unavailable`; `stopping`.
    status: &'static str,
    /// `up`, or `down`: it does not answer, or accepts no writes.
    database: &'static str,
    /// `current` or `pending`; `unknown` while the database is down.
    migrations: &'static str,
    /// `up`, `down`, or `none`.
    redis: &'static str,
}

/// Whether this instance can work: 503 if not.
#[utoipa::path(get, path = "/readyz", tag = "Health",
    responses((status = 200, body = Ready), (status = 503, body = Ready)))]
pub(super) async fn ready(doors: Data<Doors>) -> Result<Answer, Problem> {
    let found = doors.health.look().await;
    let (code, status) = match found.redis {
        _ if doors.stopping.is_cancelled() => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        _ if found.migrated != Some(true) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        Some(false) => (StatusCode::OK, "degraded"),
        Some(true) | None => (StatusCode::OK, "ok"),
    };
    let ready = Ready {
        status,
        database: if found.migrated.is_some() { "up" } else { "down" },
        migrations: found
            .migrated
            .map_or("unknown", |are_current| if are_current { "current" } else { "pending" }),
        redis: found.redis.map_or("none", |is_up| if is_up { "up" } else { "down" }),
    };
    Ok(Answer::json(code, &ready))
}
