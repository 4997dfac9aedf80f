//! The axum front: real HTTP and WebSocket over the same state machine, with a real interval calling its timers.
//!
//! A lost or truncated answer (a fault) becomes a body stream that fails, which closes the connection under the client.

use std::{io, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{
        State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket},
    },
    http::{HeaderMap, Method, Request, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use futures_util::{SinkExt, StreamExt, stream};

use crate::{HttpRequest, HttpResponse, Relay, ServerFrame};

const TICK: Duration = Duration::from_millis(200);
/// One byte over the relay's own limit, so that the core words the refusal.
const BODY_READ: usize = 1_048_577;
/// Above the relay's frame limit, so that the core decides.
const FRAME_READ: usize = 1_048_576;

/// Serves until the task is dropped.
pub(crate) async fn run(relay: Relay, listener: tokio::net::TcpListener) -> io::Result<()> {
    let ticking = relay.clone();
    let ticks = async move {
        let mut interval = tokio::time::interval(TICK);
        loop {
            interval.tick().await;
            ticking.tick();
        }
    };
    let app = Router::new().fallback(any).with_state(relay);
    tokio::select! {
        served = axum::serve(listener, app) => served,
        () = ticks => Ok(()),
    }
}

/// Any request: a WebSocket upgrade at `/`, everything else one exchange.
async fn any(
    State(relay): State<Relay>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    request: Request<Body>,
) -> Response {
    if let Ok(upgrade) = upgrade
        && uri.path() == "/"
    {
        return upgrade
            .max_message_size(FRAME_READ)
            .max_frame_size(FRAME_READ)
            .on_upgrade(move |socket| pump(relay, socket));
    }
    let body = match read(request.into_body()).await {
        Ok(body) => body,
        Err(_) => return StatusCode::BAD_REQUEST.into_response(),
    };
    let headers = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let path = uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string);
    let request = HttpRequest { method: method.as_str().to_owned(), path, headers, body, label: None, purpose: None };
    match relay.http(request) {
        Ok(answer) => written(answer),
        Err(_) => broken(Response::new(Body::empty()), Vec::new()),
    }
}

/// Reads a body up to just over the limit; what lies beyond is not needed to refuse it.
async fn read(body: Body) -> Result<Vec<u8>, axum::Error> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        let room = BODY_READ - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    Ok(bytes)
}

fn written(answer: HttpResponse) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<axum::http::HeaderName>(), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    if answer.truncated {
        return broken(response, answer.body);
    }
    *response.body_mut() = Body::from(answer.body);
    response
}

/// An answer whose body breaks off.
fn broken(mut response: Response, start: Vec<u8>) -> Response {
    let failed = io::Error::other("cut by a fault");
    *response.body_mut() = Body::from_stream(stream::iter([Ok(Bytes::from(start)), Err(failed)]));
    response
}

/// Carries frames between a real socket and an in-process one.
async fn pump(relay: Relay, socket: WebSocket) {
    let (mut out, mut input) = socket.split();
    let (sender, mut frames) = relay.connect().split();
    let incoming = async {
        while let Some(Ok(message)) = input.next().await {
            match message {
                Message::Text(text) => {
                    if !sender.send(text.as_str()) {
                        break;
                    }
                }
                Message::Pong(_) => sender.pong(),
                Message::Close(_) => break,
                Message::Binary(_) | Message::Ping(_) => {}
            }
        }
    };
    let outgoing = async {
        while let Some(frame) = frames.recv_without_pong().await {
            let message = match frame {
                ServerFrame::Text(text) => Message::Text(text.into()),
                ServerFrame::Ping => Message::Ping(Bytes::new()),
                ServerFrame::Close { code } => {
                    let reason = if code == Some(1012) { "relay restarting" } else { "" };
                    let frame = code.map(|code| CloseFrame { code, reason: reason.into() });
                    // The peer may be gone already.
                    let _gone = out.send(Message::Close(frame)).await;
                    break;
                }
            };
            if out.send(message).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = incoming => {}
        () = outgoing => {}
    }
}
