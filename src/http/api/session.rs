//! Signing in and out. What a browser is given is a cookie that no script can read.

use actix_web::web::Data;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answered, me};
use crate::{
    domain::event::actor,
    flow::back_office::{
        audit::{Audited, Deed},
        people::{EMAIL_MAX, PASSWORD_MAX},
        sign_in::{Refusal, SignedIn},
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::{Document, Problem},
        read::{self, Address, ForTls, Json, STRANGERS_MAX_BYTES},
        site,
        wire::Me,
    },
};

/// Longest link that anybody could mean.
const LINK_MAX: usize = 2_048;

/// An address and a password, or a link.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignIn)]
pub(crate) struct Showing {
    #[schema(min_length = 1, max_length = 254)]
    email: Option<String>,
    #[schema(min_length = 1, max_length = 200)]
    password: Option<String>,
    /// A sign-in link, or what stands behind its `#`.
    #[schema(min_length = 1, max_length = 2_048)]
    link: Option<String>,
}

/// Signs in: the answer's cookie is the session. A link is good once and for a day.
#[utoipa::path(post, path = "/api/v1/session", tag = "People", request_body = Showing,
    responses(
        (status = 204, headers(("Set-Cookie" = String, description = "baton_session"))),
        (status = 401, body = Document<'_>, content_type = "application/problem+json"),
        (status = 429, body = Document<'_>, content_type = "application/problem+json",
            description = "Too many attempts.", headers(("Retry-After" = i64, description = "seconds"))),
    ))]
pub(crate) async fn sign_in(
    doors: Data<Doors>,
    from: Address,
    for_tls: ForTls,
    body: Json<Showing, STRANGERS_MAX_BYTES>,
) -> Answered {
    let (came, how) = match (body.value.email, body.value.password, body.value.link) {
        (Some(email), Some(password), None) => {
            let email = read::text("/email", email, EMAIL_MAX)?;
            let password = read::text("/password", password, PASSWORD_MAX)?;
            (doors.sign_in.by_password(&email, password, from.0.as_deref()).await, "password")
        }
        (None, None, Some(link)) => {
            let link = read::text("/link", link, LINK_MAX)?;
            let secret = link.rsplit('#').next().unwrap_or_default().trim();
            (doors.sign_in.by_link(secret, from.0.as_deref()).await, "link")
        }
        _ => return Err(Problem::malformed("either email and password, or link")),
    };
    let deed = |actor: &str, deed| {
        Audited::new((doors.now)(), actor, deed).with("by", how).with("address", from.0.clone())
    };
    match came {
        Ok(SignedIn { agent, secret }) => {
            doors.note(deed(&format!("agent:{agent}"), Deed::SignedIn)).await;
            Ok(Answer::empty().with_cookie(site::cookie(&secret, for_tls.0)))
        }
        Err(refusal) => {
            // Tries that were not even looked at are bounded by nothing, and told by nobody.
            if matches!(refusal, Refusal::Unknown)
                && let Some(left_out) = doors.sign_in.refused()
            {
                let refused = deed(actor::SYSTEM, Deed::SignInRefused);
                let told = if left_out > 0 { refused.with("left_out", left_out) } else { refused };
                doors.note(told).await;
            }
            Err(refusal.into())
        }
    }
}

/// Who is signed in: the same as `/api/v1/me`.
#[utoipa::path(get, path = "/api/v1/session", tag = "People", responses((status = 200, body = Me)))]
pub(crate) async fn who(doors: Data<Doors>, caller: Caller) -> Answered {
    me::shown(&doors, caller).await
}

/// Signs out.
#[utoipa::path(delete, path = "/api/v1/session", tag = "People", responses((status = 204)))]
pub(crate) async fn sign_out(doors: Data<Doors>, caller: Caller) -> Answered {
    let hash = caller.session().ok_or_else(Problem::not_found)?;
    if !doors.people.end_session(hash).await? {
        return Err(Problem::not_found());
    }
    doors.auth.forget();
    doors.note(doors.deed(&caller, Deed::SignedOut)).await;
    Ok(Answer::empty().with_cookie(site::no_cookie()))
}
