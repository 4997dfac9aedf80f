//! Adapter: HTTP/1.1 and WebSockets over TCP and TLS.
//!
//! Both trust the same compiled-in roots. A body is read chunk by chunk and given up at its bound, so an answer of any length costs
//! at most that (P18). Redirects are never followed: a signature is good for one host and path. Without TLS only this machine is
//! spoken to, unless the configuration says otherwise.
//!
//! An open socket is one task that owns the stream. It stops reading while the session's queue is full, so nothing is dropped and a
//! slow reader is seen by the relay; it answers pings; it ends when either side does, and is aborted with its runtime.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use futures_util::{SinkExt as _, StreamExt as _};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};
use url::{Host, Url};

use super::transport::{ClientFrame, HttpRequest, HttpResponse, Method, Socket, SocketEvent, SocketRequest, Transport};
use crate::error::{Error, NetworkFailure};
use crate::limits;

/// How the adapter may speak.
#[derive(Debug, Clone, Copy, Default)]
pub struct NetConfig {
    /// Speak without TLS to other machines too. For test networks.
    pub allow_plain: bool,
}

/// The operating system's network. Needs a tokio runtime with time and I/O.
pub struct NetTransport {
    client: reqwest::Client,
    tls: Arc<ClientConfig>,
    config: NetConfig,
}

impl NetTransport {
    /// Fails with `unsupported` when no TLS can be set up.
    pub fn new(config: NetConfig) -> Result<Self, Error> {
        const WHY: Error = Error::Unsupported { what: "TLS" };
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| WHY)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.clone())
            .redirect(reqwest::redirect::Policy::none())
            // The socket knows no proxy; two routes to one relay would be two opinions of whether it is there.
            .no_proxy()
            .user_agent(concat!("waggle/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_millis(limits::DIAL_DEADLINE_MS))
            .build()
            .map_err(|_| WHY)?;
        Ok(Self { client, tls: Arc::new(tls), config })
    }

    /// Refuses to speak in clear to another machine.
    fn may_speak(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        let local = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => return false,
        };
        matches!(url.scheme(), "https" | "wss") || local || self.config.allow_plain
    }
}

impl std::fmt::Debug for NetTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NetTransport({:?})", self.config)
    }
}

impl Transport for NetTransport {
    fn http(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, NetworkFailure>> {
        if !self.may_speak(&request.url) {
            return ready(Err(NetworkFailure::Offline)).boxed();
        }
        exchange(self.client.clone(), request).boxed()
    }

    fn connect(&self, request: SocketRequest) -> BoxFuture<'static, Result<Socket, NetworkFailure>> {
        if !self.may_speak(&request.url) {
            return ready(Err(NetworkFailure::Offline)).boxed();
        }
        dial(self.tls.clone(), request).boxed()
    }
}

async fn exchange(client: reqwest::Client, request: HttpRequest) -> Result<HttpResponse, NetworkFailure> {
    let method = match request.method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
    };
    let mut builder = client.request(method, &request.url);
    for (name, value) in &request.headers {
        builder = builder.header(name, value);
    }
    if request.method == Method::Post {
        builder = builder.body(request.body);
    }
    let mut response = builder.send().await.map_err(|e| failure(&e, NetworkFailure::Lost))?;
    let date = response.headers().get("date").and_then(|v| v.to_str().ok()).and_then(parse_date);
    if response.content_length().is_some_and(|n| n > request.max_body as u64) {
        return Err(NetworkFailure::Oversized);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|e| failure(&e, NetworkFailure::Truncated))? {
        if body.len() + chunk.len() > request.max_body {
            return Err(NetworkFailure::Oversized);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HttpResponse { status: response.status().as_u16(), date, body })
}

/// Seconds since 1970 of an HTTP date.
fn parse_date(text: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(text).ok()?;
    date.duration_since(std::time::UNIX_EPOCH).ok().map(|d| d.as_secs())
}

fn failure(error: &reqwest::Error, otherwise: NetworkFailure) -> NetworkFailure {
    if error.is_timeout() {
        NetworkFailure::TimedOut
    } else if error.is_connect() {
        NetworkFailure::Offline
    } else {
        otherwise
    }
}

type Stream = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

async fn dial(tls: Arc<ClientConfig>, request: SocketRequest) -> Result<Socket, NetworkFailure> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(limits::FRAME_BYTES))
        .max_frame_size(Some(limits::FRAME_BYTES));
    let dialled = connect_async_tls_with_config(request.url, Some(config), true, Some(Connector::Rustls(tls))).await;
    let (stream, _) = dialled.map_err(|e| match e {
        SocketError::Http(response) => NetworkFailure::Server(response.status().as_u16()),
        SocketError::Io(_) | SocketError::Tls(_) => NetworkFailure::Offline,
        _ => NetworkFailure::Lost,
    })?;
    let (tx, commands) = mpsc::channel(limits::SOCKET_OUT_FRAMES);
    let (events, rx) = mpsc::channel(limits::SOCKET_IN_FRAMES);
    tokio::spawn(async move {
        let gone = events.clone();
        // A session that is gone must not be outlived by a write that never finishes.
        tokio::select! {
            () = gone.closed() => {}
            () = run(stream, commands, events) => {}
        }
    });
    Ok(Socket { tx, rx })
}

/// Moves frames until either side ends.
async fn run(mut stream: Stream, mut commands: mpsc::Receiver<ClientFrame>, events: mpsc::Sender<SocketEvent>) {
    let code = loop {
        tokio::select! {
            command = commands.recv() => {
                let message = match command {
                    Some(ClientFrame::Text(text)) => Message::Text(text.into()),
                    Some(ClientFrame::Ping) => Message::Ping(Vec::new().into()),
                    None => {
                        let _ = stream.close(None).await;
                        return;
                    }
                };
                if stream.send(message).await.is_err() {
                    break None;
                }
            }
            read = next(&mut stream, &events) => match read {
                None => return,
                Some((permit, Ok(event))) => permit.send(event),
                Some((_, Err(code))) => break code,
            },
        }
    };
    let _ = events.send(SocketEvent::Closed { code }).await;
}

/// Room first, then a message: reading stops while the session is behind. `None` when the session is gone. Cancel-safe.
async fn next<'a>(
    stream: &mut Stream,
    events: &'a mpsc::Sender<SocketEvent>,
) -> Option<(mpsc::Permit<'a, SocketEvent>, Result<SocketEvent, Option<u16>>)> {
    let permit = events.reserve().await.ok()?;
    loop {
        let event = match stream.next().await {
            Some(Ok(Message::Text(text))) => Ok(SocketEvent::Text(text.as_str().to_owned())),
            // The library has queued the answer to a ping; it goes out with the next read or write.
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(SocketEvent::Pong),
            Some(Ok(Message::Close(frame))) => Err(frame.map(|f: CloseFrame| f.code.into())),
            // No frame of this protocol is binary.
            Some(Ok(Message::Binary(_) | Message::Frame(_))) => continue,
            Some(Err(_)) | None => Err(None),
        };
        return Some((permit, event));
    }
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
