//! The core's transport port over a [`Link`]: bytes go to the relay in this process.
//!
//! The URL's origin is dropped, the relay hears the path and the `host` header. A socket is two small tasks that end with either
//! side; frames are held back, never dropped.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use waggle::error::NetworkFailure;
use waggle::limits;
use waggle::relay::transport::{ClientFrame, HttpRequest, HttpResponse, Socket, SocketEvent, SocketRequest, Transport};
use waggle::request::Purpose;
use waggle_test_relay::{ServerFrame, SocketReceiver, SocketSender};

use crate::device::{Link, LinkFailure};

/// A device's transport.
pub struct InProcess(pub Arc<Link>);

impl From<LinkFailure> for NetworkFailure {
    fn from(why: LinkFailure) -> Self {
        match why {
            LinkFailure::Offline => Self::Offline,
            LinkFailure::Lost => Self::Lost,
            LinkFailure::Truncated => Self::Truncated,
        }
    }
}

impl Transport for InProcess {
    fn http(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, NetworkFailure>> {
        let link = self.0.clone();
        Box::pin(async move {
            let max_body = request.max_body;
            let answer = link.http(to_relay(request)).await?;
            if answer.body.len() > max_body {
                return Err(NetworkFailure::Oversized);
            }
            let date = answer.header("date").and_then(seconds);
            Ok(HttpResponse { status: answer.status, date, body: answer.body })
        })
    }

    fn connect(&self, _: SocketRequest) -> BoxFuture<'static, Result<Socket, NetworkFailure>> {
        let link = self.0.clone();
        Box::pin(async move {
            let (sender, receiver) = link.connect()?;
            Ok(socket(link, sender, receiver))
        })
    }
}

/// Splits an absolute URL into host and path.
fn split(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.find('/') {
        Some(i) => rest.split_at(i),
        None => (rest, "/"),
    }
}

/// A request as the test relay takes it: without its origin, with its purpose beside it.
pub fn to_relay(request: HttpRequest) -> waggle_test_relay::HttpRequest {
    let (host, path) = split(&request.url);
    let (host, path) = (host.to_owned(), path.to_owned());
    let mut headers = request.headers;
    headers.push(("host".to_owned(), host));
    waggle_test_relay::HttpRequest {
        method: request.method.name().to_owned(),
        path,
        headers,
        body: request.body,
        label: None,
        purpose: Some(purpose(request.purpose)),
    }
}

fn purpose(purpose: Purpose) -> waggle_test_relay::Purpose {
    use waggle_test_relay::Purpose as Seen;
    match purpose {
        Purpose::Nip11 => Seen::Nip11,
        Purpose::Head => Seen::Head,
        Purpose::Older => Seen::Older,
        Purpose::Thread => Seen::Thread,
        Purpose::Aux => Seen::Aux,
        Purpose::Evidence => Seen::Evidence,
        Purpose::Lookup => Seen::Lookup,
        Purpose::Homes => Seen::Homes,
        Purpose::Snapshot => Seen::Snapshot,
        Purpose::ReadState => Seen::ReadState,
        Purpose::Readback => Seen::Readback,
        Purpose::Publish => Seen::Publish,
        Purpose::Roster => Seen::Roster,
        Purpose::Preference => Seen::Preference,
        Purpose::Profile => Seen::Metadata,
    }
}

fn seconds(date: &str) -> Option<u64> {
    let time = httpdate::parse_http_date(date).ok()?;
    time.duration_since(std::time::UNIX_EPOCH).ok().map(|d| d.as_secs())
}

/// What happens to frames on their way between session and relay.
pub trait Pipe: Send + Sync + 'static {
    /// A frame leaves for the relay.
    fn leaves(&self, text: &str);

    /// A frame of the relay is there: hands on what is to arrive of it. False when nobody listens any more.
    fn arrives(self: Arc<Self>, text: String, events: &mpsc::Sender<SocketEvent>) -> impl Future<Output = bool> + Send;
}

impl Pipe for Link {
    fn leaves(&self, text: &str) {
        self.frame(">", text);
    }

    async fn arrives(self: Arc<Self>, text: String, events: &mpsc::Sender<SocketEvent>) -> bool {
        self.frame("<", &text);
        events.send(SocketEvent::Text(text)).await.is_ok()
    }
}

/// The session's end of a socket whose frames go through a pipe: two tasks that end with either side.
pub fn socket<P: Pipe>(pipe: Arc<P>, sender: SocketSender, receiver: SocketReceiver) -> Socket {
    let (tx, outgoing) = mpsc::channel(limits::SOCKET_OUT_FRAMES);
    let (incoming, rx) = mpsc::channel(limits::SOCKET_IN_FRAMES);
    tokio::spawn(send(pipe.clone(), outgoing, sender, incoming.clone()));
    tokio::spawn(receive(pipe, receiver, incoming));
    Socket { tx, rx }
}

async fn send<P: Pipe>(
    pipe: Arc<P>,
    mut frames: mpsc::Receiver<ClientFrame>,
    relay: SocketSender,
    back: mpsc::Sender<SocketEvent>,
) {
    while let Some(frame) = frames.recv().await {
        match frame {
            ClientFrame::Text(text) => {
                pipe.leaves(&text);
                if !relay.send(text) {
                    break;
                }
            }
            ClientFrame::Ping => {
                if back.send(SocketEvent::Pong).await.is_err() {
                    break;
                }
            }
        }
    }
    relay.close();
}

async fn receive<P: Pipe>(pipe: Arc<P>, mut relay: SocketReceiver, events: mpsc::Sender<SocketEvent>) {
    loop {
        let frame = tokio::select! {
            biased;
            () = events.closed() => return,
            frame = relay.recv() => frame,
        };
        let event = match frame {
            Some(ServerFrame::Text(text)) => {
                if !pipe.clone().arrives(text, &events).await {
                    return;
                }
                continue;
            }
            Some(ServerFrame::Ping) => SocketEvent::Pong,
            Some(ServerFrame::Close { code }) => SocketEvent::Closed { code },
            None => SocketEvent::Closed { code: None },
        };
        let over = matches!(event, SocketEvent::Closed { .. });
        if events.send(event).await.is_err() || over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Time, rest};
    use crate::trace::Trace;
    use waggle::relay::transport::Method;
    use waggle_test_relay::{Relay, RelayConfig};

    #[test]
    fn a_url_is_a_host_and_a_path() {
        assert_eq!(split("https://relay.test/query"), ("relay.test", "/query"));
        assert_eq!(split("wss://relay.test:7/"), ("relay.test:7", "/"));
        assert_eq!(split("https://relay.test"), ("relay.test", "/"));
    }

    #[test]
    fn answers_carry_the_relays_time_and_sockets_end_with_the_line() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let relay = Relay::open(RelayConfig::new(Time::starting_at(1_751_500_000))).unwrap();
            let link = Link::new(relay.clone(), "phone", Trace::default());
            let transport = InProcess(link.clone());
            let request = HttpRequest {
                method: Method::Get,
                url: "https://relay.test/".into(),
                headers: Vec::new(),
                body: Vec::new(),
                max_body: 1 << 16,
                purpose: Purpose::Nip11,
            };
            let answer = transport.http(request.clone()).await.unwrap();
            assert_eq!((answer.status, answer.date), (200, Some(1_751_500_000)));
            let small = HttpRequest { max_body: 3, ..request };
            assert_eq!(transport.http(small).await.unwrap_err(), NetworkFailure::Oversized);
            let mut socket = transport.connect(SocketRequest { url: "wss://relay.test/".into() }).await.unwrap();
            assert!(matches!(socket.rx.recv().await, Some(SocketEvent::Text(t)) if t.starts_with("[\"AUTH\"")));
            socket.tx.send(ClientFrame::Ping).await.unwrap();
            assert_eq!(socket.rx.recv().await, Some(SocketEvent::Pong));
            link.set_online(false);
            assert_eq!(socket.rx.recv().await, Some(SocketEvent::Closed { code: None }));
            link.set_online(true);
            let socket = transport.connect(SocketRequest { url: "wss://relay.test/".into() }).await.unwrap();
            rest().await;
            assert_eq!(relay.admin().open_sockets(), 1);
            drop(socket);
            rest().await;
            assert_eq!(relay.admin().open_sockets(), 0);
        });
    }
}
