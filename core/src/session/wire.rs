//! Carrying out what the connection and the requests want: sockets, exchanges, signatures. Everything here runs beside the session's task
//! and reports back to it; dropping it stops it.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::blocking::Blocking;
use super::input::Input;
use crate::entropy::Entropy;
use crate::error::NetworkFailure;
use crate::event::Verifier;
use crate::identity::{Signer, Unsigned};
use crate::limits;
use crate::relay::connection::{self, Attempt};
use crate::relay::protocol::{self, RelayAddress};
use crate::relay::transport::{HttpRequest, HttpResponse, Method, SocketEvent, SocketRequest, Transport};
use crate::request::{Outcome, Purpose, Request, RequestError, RequestId};

/// What all of it needs.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) signer: Arc<dyn Signer>,
    pub(super) verifier: Arc<Verifier>,
    pub(super) address: Arc<RelayAddress>,
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) blocking: Blocking,
}

impl Wire {
    async fn report(&self, input: Input) {
        // A session that is gone needs no report.
        let _ = self.inputs.send(input).await;
    }

    /// Fetches the discovery document.
    pub(super) async fn fetch_document(self, attempt: Attempt) {
        let request = HttpRequest {
            method: Method::Get,
            url: self.address.http_url("/"),
            headers: vec![("Accept".to_owned(), "application/nostr+json".to_owned())],
            body: Vec::new(),
            max_body: limits::DOCUMENT_BYTES,
            purpose: Purpose::Nip11,
        };
        let answer = self.transport.http(request).await;
        self.report(Input::Link(connection::Input::Document(attempt, answer))).await;
    }

    /// Opens a socket and reads it until it ends. Frames are verified here, off the session's task.
    pub(super) async fn socket(self, attempt: Attempt) {
        let request = SocketRequest { url: self.address.socket_url() };
        let mut socket = match self.transport.connect(request).await {
            Ok(socket) => socket,
            Err(why) => return self.report(Input::Dialled(attempt, Err(why))).await,
        };
        self.report(Input::Dialled(attempt, Ok(socket.tx.clone()))).await;
        drop(socket.tx);
        while let Some(event) = socket.rx.recv().await {
            let (input, over) = match event {
                SocketEvent::Text(text) => {
                    (connection::Input::Message(attempt, protocol::receive(&text, &self.verifier)), false)
                }
                SocketEvent::Pong => (connection::Input::Alive(attempt), false),
                SocketEvent::Lagged => (connection::Input::Lagged(attempt), false),
                SocketEvent::Closed { code } => (connection::Input::Ended(attempt, code), true),
            };
            self.report(Input::Link(input)).await;
            if over {
                return;
            }
        }
        self.report(Input::Link(connection::Input::Ended(attempt, None))).await;
    }

    /// Signs the answer to a socket's challenge.
    pub(super) async fn sign(self, attempt: Attempt, event: Unsigned, server_time: u64) {
        let signed = self.signer.sign(event, server_time).await;
        self.report(Input::Link(connection::Input::Signed(attempt, signed))).await;
    }

    /// Makes one exchange: sign, send, decode and verify.
    pub(super) async fn exchange(self, id: RequestId, request: Request, server_time: u64, mut entropy: Entropy) {
        let (outcome, date) = self.try_exchange(request, server_time, &mut entropy).await;
        self.report(Input::Exchange(id, outcome, date)).await;
    }

    async fn try_exchange(&self, request: Request, server_time: u64, entropy: &mut Entropy) -> (Outcome, Option<u64>) {
        let exchange = protocol::exchange(&request);
        let mut headers = exchange.headers;
        if exchange.signed {
            let unsigned = protocol::http_auth(
                &self.address,
                exchange.method,
                exchange.path,
                &exchange.body,
                entropy,
                server_time,
            );
            match self.signer.sign(unsigned, server_time).await {
                Ok(signed) => headers.push(("Authorization".to_owned(), protocol::authorization(&signed))),
                Err(_) => return (Err(RequestError::ReadOnly), None),
            }
        }
        let http = HttpRequest {
            method: exchange.method,
            url: self.address.http_url(exchange.path),
            headers,
            body: exchange.body,
            max_body: exchange.max_body,
            purpose: request.purpose,
        };
        match self.transport.http(http).await {
            Ok(response) => {
                let date = response.date;
                (self.decode(response, request).await, date)
            }
            Err(why) => (Err(RequestError::Network(why)), None),
        }
    }

    /// Long answers are verified where work blocks: a page of signatures must not hold up the live stream.
    async fn decode(&self, response: HttpResponse, request: Request) -> Outcome {
        let verifier = self.verifier.clone();
        if response.body.len() <= limits::DECODE_INLINE_BYTES {
            return protocol::outcome(&response, &request, &verifier);
        }
        let decoded = self.blocking.run(move || protocol::outcome(&response, &request, &verifier));
        decoded.await.unwrap_or(Err(RequestError::Network(NetworkFailure::Truncated)))
    }
}
