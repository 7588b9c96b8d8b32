//! What is not part of Green API: `/simulator`, where somebody plays contacts and the phone, makes things go wrong, and looks.

use actix_web::{
    HttpResponse, ResponseError,
    web::{self, Bytes, Data, Path, Query, ServiceConfig},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    Shared,
    account::{Account, Fault, Written},
};

pub(super) fn mount(config: &mut ServiceConfig) {
    config
        .route("/simulator", web::get().to(overview))
        .route("/simulator/messages", web::get().to(messages))
        .route("/simulator/contact", web::post().to(contact))
        .route("/simulator/phone", web::post().to(phone))
        .route("/simulator/state", web::post().to(state))
        .route("/simulator/notification", web::post().to(notification))
        .route("/simulator/faults", web::post().to(add_fault))
        .route("/simulator/faults", web::delete().to(clear_faults))
        .route("/simulator/files/{id}/{name}", web::get().to(file));
}

/// What is asked for wrongly, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Wrong(String);

impl ResponseError for Wrong {
    fn error_response(&self) -> HttpResponse {
        HttpResponse::BadRequest().json(json!({ "message": self.0 }))
    }
}

type Played = Result<HttpResponse, Wrong>;

/// JSON, whatever the header says: `curl -d` says something else.
fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Wrong> {
    serde_json::from_slice(body).map_err(|error| Wrong(error.to_string()))
}

async fn overview(shared: Data<Shared>) -> HttpResponse {
    HttpResponse::Ok().json(shared.account().overview())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfChat {
    chat_id: Option<String>,
}

async fn messages(shared: Data<Shared>, of: Query<OfChat>) -> HttpResponse {
    HttpResponse::Ok().json(shared.account().written(of.chat_id.as_deref()))
}

async fn contact(shared: Data<Shared>, body: Bytes) -> Played {
    writes(&shared, &body, Account::contact_writes)
}

async fn phone(shared: Data<Shared>, body: Bytes) -> Played {
    writes(&shared, &body, Account::phone_writes)
}

type Writes = fn(&mut Account, &Written, i64) -> Result<String, String>;

fn writes(shared: &Shared, body: &Bytes, act: Writes) -> Played {
    let written: Written = read(body)?;
    let id = shared.change(|account, now| act(account, &written, now)).map_err(Wrong)?;
    Ok(HttpResponse::Ok().json(json!({ "idMessage": id })))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct State {
    state_instance: String,
}

/// Any word: clients must bear with states that they do not know.
async fn state(shared: Data<Shared>, body: Bytes) -> Played {
    let State { state_instance } = read(&body)?;
    shared.change(|account, now| account.become_state(&state_instance, now));
    Ok(HttpResponse::Ok().json(json!({ "stateInstance": state_instance })))
}

/// A body of a webhook that nothing else here makes, such as a call.
async fn notification(shared: Data<Shared>, body: Bytes) -> Played {
    let body: Value = read(&body)?;
    shared.change(|account, now| account.tell_as_it_is(body, now));
    Ok(HttpResponse::Ok().json(json!({})))
}

async fn add_fault(shared: Data<Shared>, body: Bytes) -> Played {
    let fault: Fault = read(&body)?;
    if let Some(complaint) = fault.complaint() {
        return Err(Wrong(complaint.to_owned()));
    }
    shared.change(|account, _| account.add_fault(fault));
    Ok(HttpResponse::Ok().json(json!({})))
}

async fn clear_faults(shared: Data<Shared>) -> HttpResponse {
    shared.change(|account, _| account.clear_faults());
    HttpResponse::Ok().json(json!({}))
}

/// To be saved and never run: what it is, somebody else has said.
async fn file(shared: Data<Shared>, path: Path<(String, String)>) -> HttpResponse {
    match shared.account().file(&path.0) {
        Some(file) => HttpResponse::Ok()
            .content_type("application/octet-stream")
            .insert_header(("Content-Disposition", "attachment"))
            .insert_header(("X-Content-Type-Options", "nosniff"))
            .body(file.bytes.clone()),
        None => HttpResponse::NotFound().finish(),
    }
}
