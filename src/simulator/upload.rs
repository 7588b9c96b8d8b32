//! Files as clients upload them: in a form, or as a body of their own.

use actix_multipart::Multipart;
use actix_web::{
    HttpRequest,
    web::{Bytes, BytesMut, Payload},
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::account::Call;

/// The gateway takes no longer file.
const FILE_MAX_BYTES: usize = 100 * 1024 * 1024;

/// The longest text of a form.
const TEXT_MAX_BYTES: usize = 100 * 1024;

pub(super) fn is_upload(method: &str) -> bool {
    matches!(method, "sendFileByUpload" | "uploadFile")
}

/// What is wrong with it stays with the call, which the account answers.
pub(super) async fn read(request: &HttpRequest, payload: Payload, call: &mut Call) {
    let read = if call.method == "uploadFile" {
        whole(request, payload, call).await
    } else {
        form(Multipart::new(request.headers(), payload), call).await
    };
    if let Err(wrong) = read {
        call.broken = Some(wrong);
    }
}

async fn whole(request: &HttpRequest, payload: Payload, call: &mut Call) -> Result<(), String> {
    let name = request.headers().get("GA-Filename").and_then(|name| name.to_str().ok()).unwrap_or("file");
    let bytes =
        payload.to_bytes_limited(FILE_MAX_BYTES).await.map_err(|_| "the file is too long".to_owned())?;
    let bytes = bytes.map_err(|error| error.to_string())?;
    if !bytes.is_empty() {
        call.file = Some((name.to_owned(), bytes));
    }
    Ok(())
}

async fn form(mut form: Multipart, call: &mut Call) -> Result<(), String> {
    while let Some(field) = form.next().await {
        let mut field = field.map_err(|error| error.to_string())?;
        let name = field.name().unwrap_or_default().to_owned();
        let file_name = field.content_disposition().and_then(|about| about.get_filename()).map(str::to_owned);
        let limit = if name == "file" { FILE_MAX_BYTES } else { TEXT_MAX_BYTES };
        let mut bytes = BytesMut::new();
        while let Some(chunk) = field.next().await {
            bytes.extend_from_slice(&chunk.map_err(|error| error.to_string())?);
            if bytes.len() > limit {
                return Err(format!("'{name}' is too long"));
            }
        }
        if name == "file" {
            call.file = Some((file_name.unwrap_or_else(|| "file".to_owned()), bytes.freeze()));
        } else {
            call.body.insert(name.clone(), value(&name, &bytes.freeze()));
        }
    }
    Ok(())
}

/// A form knows only text; one of its fields is a number.
fn value(name: &str, bytes: &Bytes) -> Value {
    let text = String::from_utf8_lossy(bytes);
    match (name, text.parse::<i64>()) {
        ("typingTime", Ok(number)) => json!(number),
        _ => json!(text),
    }
}
