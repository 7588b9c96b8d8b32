//! A body of unknown length that nobody has read to its end: its connection ends with the answer, as it does where the length is
//! known. The server itself would read on without any limit, in case another request follows, for whoever asks, and as long as they
//! write.

use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use actix_web::{
    Error, HttpMessage as _,
    body::{BodySize, BoxBody, MessageBody},
    dev::{Payload, ServiceRequest, ServiceResponse},
    error::PayloadError,
    http::header::TRANSFER_ENCODING,
    middleware::Next,
};
use bytes::Bytes;
use futures_util::Stream;

/// Around every route. The server takes a body that is still there when the answer has ended for unread, and one that was dropped
/// for one to be read on: it is there for as long as the answer is.
pub(super) async fn ends_the_connection<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if !request.headers().contains_key(TRANSFER_ENCODING) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let asked = Rc::new(RefCell::new(request.take_payload()));
    request.set_payload(Payload::Stream { payload: Box::pin(Lent(Rc::clone(&asked))) });
    let response = next.call(request).await?.map_into_boxed_body();
    Ok(response.map_body(|_, body| BoxBody::new(Answer { body, _asked: asked })))
}

/// The body of a request, for whoever reads it.
struct Lent(Rc<RefCell<Payload>>);

impl Stream for Lent {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_next(context)
    }
}

/// The body of the answer to it.
struct Answer {
    body: BoxBody,
    _asked: Rc<RefCell<Payload>>,
}

impl MessageBody for Answer {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
