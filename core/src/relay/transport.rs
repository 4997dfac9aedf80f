//! Port: how bytes reach the relay. Tests and the scenario runner implement it over a relay in the same process.

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::error::NetworkFailure;
use crate::request::Purpose;

/// HTTP methods the core uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The discovery document.
    Get,
    /// Everything else.
    Post,
}

impl Method {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// One HTTP exchange to be made.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Method.
    pub method: Method,
    /// Absolute URL.
    pub url: String,
    /// Headers beyond those the transport itself must send.
    pub headers: Vec<(String, String)>,
    /// Body, as it was hashed for the signature.
    pub body: Vec<u8>,
    /// Bytes of the answer's body to read at most; a longer one is [`NetworkFailure::Oversized`].
    pub max_body: usize,
    /// What it is for. Never on the wire; test relays count by it.
    pub purpose: Purpose,
}

// Headers carry a signature, bodies carry ids: shapes only.
impl std::fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HttpRequest({:?} {:?}, {} B)", self.method, self.purpose, self.body.len())
    }
}

/// What came back.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code.
    pub status: u16,
    /// The `Date` header as seconds since 1970, if there was a readable one (R25).
    pub date: Option<u64>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl std::fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HttpResponse({}, {} B)", self.status, self.body.len())
    }
}

/// A socket to be opened.
#[derive(Clone, PartialEq, Eq)]
pub struct SocketRequest {
    /// `wss://host/` or `ws://host/`.
    pub url: String,
}

impl std::fmt::Debug for SocketRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SocketRequest(…)")
    }
}

/// What the session sends into a socket.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientFrame {
    /// A message.
    Text(String),
    /// A ping, to see whether anybody is there.
    Ping,
}

impl std::fmt::Debug for ClientFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} B)", text.len()),
            Self::Ping => f.write_str("Ping"),
        }
    }
}

/// What a socket reports.
#[derive(Clone, PartialEq, Eq)]
pub enum SocketEvent {
    /// A message, at most [`FRAME_BYTES`](crate::limits::FRAME_BYTES).
    Text(String),
    /// A sign of life without content: a pong, or a ping the transport has answered.
    Pong,
    /// Events were lost between transport and session; a repair must follow (pitfalls B15). A transport that holds back instead
    /// of dropping never says so.
    Lagged,
    /// The socket ended, with the close code if one was given. The last event.
    Closed {
        /// Close code.
        code: Option<u16>,
    },
}

impl std::fmt::Debug for SocketEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} B)", text.len()),
            Self::Pong => f.write_str("Pong"),
            Self::Lagged => f.write_str("Lagged"),
            Self::Closed { code } => write!(f, "Closed({code:?})"),
        }
    }
}

/// An open socket. Dropping either end closes it.
#[derive(Debug)]
pub struct Socket {
    /// Towards the relay; bounded by [`SOCKET_OUT_FRAMES`](crate::limits::SOCKET_OUT_FRAMES).
    pub tx: mpsc::Sender<ClientFrame>,
    /// From the relay, in order; bounded by [`SOCKET_IN_FRAMES`](crate::limits::SOCKET_IN_FRAMES).
    pub rx: mpsc::Receiver<SocketEvent>,
}

/// How bytes reach the relay. Deadlines are the caller's: it drops the future.
pub trait Transport: Send + Sync + 'static {
    /// One exchange. Any status is an answer; a failure is the absence of one.
    fn http(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, NetworkFailure>>;
    /// Opens a socket.
    fn connect(&self, request: SocketRequest) -> BoxFuture<'static, Result<Socket, NetworkFailure>>;
}
