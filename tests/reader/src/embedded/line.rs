//! A device's line to a relay in the same process: the core's transport without a network.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use waggle::error::NetworkFailure;
use waggle::limits;
use waggle::relay::transport::{ClientFrame, HttpRequest, HttpResponse, Socket, SocketEvent, SocketRequest, Transport};
use waggle_test_relay::{Relay, ServerFrame, SocketReceiver, SocketSender};

/// A line that can be cut.
pub struct Line {
    relay: Relay,
    device: String,
    cut: AtomicBool,
    /// The newest socket over it; a session has one at a time.
    socket: Mutex<Option<SocketSender>>,
}

impl Line {
    /// A line that works.
    pub fn new(relay: Relay, device: &str) -> Arc<Self> {
        Arc::new(Self { relay, device: device.to_owned(), cut: AtomicBool::new(false), socket: Mutex::default() })
    }

    /// Cuts it: its socket ends, new exchanges fail.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        if let Some(socket) = self.socket().take() {
            socket.close();
        }
    }

    /// Mends it.
    pub fn mend(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }

    fn socket(&self) -> std::sync::MutexGuard<'_, Option<SocketSender>> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, NetworkFailure> {
        if self.is_cut() {
            return Err(NetworkFailure::Offline);
        }
        let answer = self.relay.http(waggle_test_relay::HttpRequest {
            method: request.method.name().to_owned(),
            path: path(&request.url),
            headers: request.headers,
            body: request.body,
            label: Some(self.device.clone()),
            purpose: None,
        });
        let answer = answer.map_err(|_| NetworkFailure::Lost)?;
        if answer.truncated {
            return Err(NetworkFailure::Truncated);
        }
        if answer.body.len() > request.max_body {
            return Err(NetworkFailure::Oversized);
        }
        let date = answer.header("date").and_then(http_date);
        Ok(HttpResponse { status: answer.status, date, body: answer.body })
    }

    fn open(&self) -> Result<Socket, NetworkFailure> {
        if self.is_cut() {
            return Err(NetworkFailure::Offline);
        }
        let (sender, receiver) = self.relay.connect_labelled(self.device.clone()).split();
        *self.socket() = Some(sender.clone());
        let (tx, frames) = mpsc::channel(limits::SOCKET_OUT_FRAMES);
        let (events, rx) = mpsc::channel(limits::SOCKET_IN_FRAMES);
        tokio::spawn(carry(sender, receiver, frames, events));
        Ok(Socket { tx, rx })
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Line(…)")
    }
}

/// Carries frames until either side ends.
async fn carry(
    sender: SocketSender,
    mut receiver: SocketReceiver,
    mut frames: mpsc::Receiver<ClientFrame>,
    events: mpsc::Sender<SocketEvent>,
) {
    loop {
        let event = tokio::select! {
            frame = receiver.recv() => match frame {
                Some(ServerFrame::Text(text)) => SocketEvent::Text(text),
                Some(ServerFrame::Ping) => SocketEvent::Pong,
                Some(ServerFrame::Close { code }) => SocketEvent::Closed { code },
                None => SocketEvent::Closed { code: None },
            },
            frame = frames.recv() => match frame {
                Some(ClientFrame::Text(text)) => {
                    sender.send(text);
                    continue;
                }
                // Nobody but this process is at the other end.
                Some(ClientFrame::Ping) => SocketEvent::Pong,
                None => return,
            },
            () = events.closed() => return,
        };
        let over = matches!(event, SocketEvent::Closed { .. });
        if events.send(event).await.is_err() || over {
            return;
        }
    }
}

/// Path and query of an absolute URL.
fn path(url: &str) -> String {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    after.find('/').map_or_else(|| "/".to_owned(), |at| after[at..].to_owned())
}

/// Seconds of a `Date` header as the test relay writes it.
fn http_date(text: &str) -> Option<u64> {
    let at = httpdate::parse_http_date(text).ok()?;
    at.duration_since(std::time::UNIX_EPOCH).ok().map(|d| d.as_secs())
}

impl Transport for Line {
    fn http(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, NetworkFailure>> {
        // The relay works at once; the answer comes when the caller is polled again, as one over a network would.
        let answer = self.exchange(request);
        async move {
            tokio::task::yield_now().await;
            answer
        }
        .boxed()
    }

    fn connect(&self, _: SocketRequest) -> BoxFuture<'static, Result<Socket, NetworkFailure>> {
        std::future::ready(self.open()).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_an_address() {
        assert_eq!(path("http://127.0.0.1:7447/query"), "/query");
        assert_eq!(path("http://127.0.0.1:7447"), "/");
        assert_eq!(path("http://host/a?b=c"), "/a?b=c");
    }
}
