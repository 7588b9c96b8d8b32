//! The code with which the phone of a channel is linked: asked of the provider each time, and kept nowhere.

use actix_web::web::{Data, Path};

use super::{Answered, channels};
use crate::http::{answer::Answer, auth::Caller, doors::Doors, wire::PhoneLink};

/// What there is to link the phone of a channel with. A code is good for some twenty seconds: ask again every 15 to 20.
#[utoipa::path(get, path = "/api/v1/channels/{name}/qr", tag = "Channels", params(("name" = String, Path,)),
    responses((status = 200, body = PhoneLink)))]
pub(crate) async fn qr(doors: Data<Doors>, caller: Caller, name: Path<String>) -> Answered {
    let channel = channels::seen(&doors, &caller, &name).await?;
    Ok(Answer::ok(&PhoneLink::from(doors.channels.link_code(&channel.name).await)))
}
