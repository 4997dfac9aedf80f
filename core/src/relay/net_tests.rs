//! One tiny server on the loopback interface at a time; nothing sleeps, nothing leaves this machine.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;
use crate::request::Purpose;

/// Answers one request with `head`, then with as much of `tail` as the client takes. Gives the request and the bytes taken.
fn serve(head: String, tail: Vec<u8>, repeat: usize) -> (String, JoinHandle<(String, usize)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/query", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4_096];
        while !request.ends_with(b"[1]") && !request.windows(4).any(|w| w == b"\r\n\r\n" && request.starts_with(b"GET"))
        {
            let n = stream.read(&mut buffer).unwrap();
            assert!(n > 0);
            request.extend_from_slice(&buffer[..n]);
        }
        stream.write_all(head.as_bytes()).unwrap();
        let mut taken = 0;
        for _ in 0..repeat {
            if stream.write_all(&tail).is_err() {
                break;
            }
            taken += tail.len();
        }
        (String::from_utf8(request).unwrap(), taken)
    });
    (url, server)
}

/// Waits beside the runtime, which has a connection to take down meanwhile.
async fn joined(server: JoinHandle<(String, usize)>) -> (String, usize) {
    tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap()
}

fn request(method: Method, url: String, max_body: usize) -> HttpRequest {
    let headers = vec![("Authorization".to_owned(), "Nostr e30=".to_owned())];
    let body = if method == Method::Post { b"[1]".to_vec() } else { Vec::new() };
    HttpRequest { method, url, headers, body, max_body, purpose: Purpose::Evidence }
}

fn transport() -> NetTransport {
    NetTransport::new(NetConfig::default()).unwrap()
}

async fn post(url: String, max_body: usize) -> Result<HttpResponse, NetworkFailure> {
    transport().http(request(Method::Post, url, max_body)).await
}

/// R25: the `Date` header is what server time is learned from.
#[tokio::test]
async fn an_exchange_and_its_date() {
    let head = "HTTP/1.1 429 X\r\nDate: Tue, 15 Nov 1994 08:12:31 GMT\r\nContent-Length: 5\r\n\r\n".to_owned();
    let (url, server) = serve(head, b"hello".to_vec(), 1);
    let response = post(url, 5).await.unwrap();
    assert_eq!((response.status, response.date, response.body.as_slice()), (429, Some(784_887_151), &b"hello"[..]));
    let (request, _) = joined(server).await;
    assert!(request.starts_with("POST /query HTTP/1.1\r\n") && request.ends_with("\r\n\r\n[1]"));
    assert!(request.to_ascii_lowercase().contains("authorization: nostr e30=\r\n"));
}

#[tokio::test]
async fn a_date_that_is_none_is_none() {
    let head = "HTTP/1.1 200 OK\r\nDate: yesterday\r\nConnection: close\r\n\r\n".to_owned();
    let (url, server) = serve(head, b"{}".to_vec(), 1);
    let response = transport().http(request(Method::Get, url, 64)).await.unwrap();
    assert_eq!((response.date, response.body.as_slice()), (None, &b"{}"[..]));
    let (request, _) = joined(server).await;
    assert!(request.starts_with("GET "));
}

/// A body without end costs its bound, not the memory.
#[tokio::test]
async fn an_oversized_body_is_given_up_while_it_streams() {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_owned();
    let (url, server) = serve(head, vec![b' '; 64 << 10], 16_384);
    assert_eq!(post(url, 1 << 20).await, Err(NetworkFailure::Oversized));
    let (_, taken) = joined(server).await;
    assert!(taken < 64 << 20, "the client stopped reading a gigabyte after {taken} B");
    let (url, server) = serve("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n".to_owned(), vec![b' '; 11], 1);
    assert_eq!(post(url, 10).await, Err(NetworkFailure::Oversized), "said beforehand");
    joined(server).await;
}

#[tokio::test]
async fn a_body_that_ends_early_is_truncated() {
    let (url, server) = serve("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n".to_owned(), b"[{".to_vec(), 1);
    assert_eq!(post(url, 1_000).await, Err(NetworkFailure::Truncated));
    joined(server).await;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[{\r\n".to_owned();
    let (url, server) = serve(chunked, Vec::new(), 0);
    assert_eq!(post(url, 1_000).await, Err(NetworkFailure::Truncated));
    joined(server).await;
    let (url, server) = serve(String::new(), Vec::new(), 0);
    assert_eq!(post(url, 1_000).await, Err(NetworkFailure::Lost), "no answer at all");
    joined(server).await;
}

#[tokio::test]
async fn redirects_are_answers() {
    let head = "HTTP/1.1 307 X\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n".to_owned();
    let (url, server) = serve(head, Vec::new(), 0);
    assert_eq!(post(url, 10).await.unwrap().status, 307);
    joined(server).await;
}

#[tokio::test]
async fn nobody_there_and_no_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_eq!(post(format!("http://{address}/query"), 10).await, Err(NetworkFailure::Offline));
    let dialled = transport().connect(SocketRequest { url: format!("ws://{address}/") }).await;
    assert_eq!(dialled.err(), Some(NetworkFailure::Offline));
    // In clear to another machine: refused before anything is sent.
    for url in ["http://192.0.2.1/query", "ftp://127.0.0.1/", "nonsense"] {
        assert!(!transport().may_speak(url) || url.starts_with("ftp"), "{url}");
    }
    assert_eq!(post("http://192.0.2.1/query".into(), 10).await, Err(NetworkFailure::Offline));
    let dialled = transport().connect(SocketRequest { url: "ws://192.0.2.1/".into() }).await;
    assert_eq!(dialled.err(), Some(NetworkFailure::Offline));
    assert!(NetTransport::new(NetConfig { allow_plain: true }).unwrap().may_speak("http://192.0.2.1/query"));
    assert!(transport().may_speak("wss://192.0.2.1/"));
}

type Peer = WebSocketStream<tokio::net::TcpStream>;

/// Opens a socket whose other end is `script`.
async fn socket<F: Future<Output = ()> + Send + 'static>(script: impl FnOnce(Peer) -> F + Send + 'static) -> Socket {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        script(tokio_tungstenite::accept_async(stream).await.unwrap()).await;
    });
    transport().connect(SocketRequest { url }).await.unwrap()
}

#[tokio::test]
async fn frames_go_both_ways_and_pings_are_answered() {
    let mut socket = socket(|mut peer| async move {
        peer.send(Message::Text(r#"["AUTH","c"]"#.into())).await.unwrap();
        assert_eq!(peer.next().await.unwrap().unwrap().into_text().unwrap().as_str(), "hello");
        peer.send(Message::Ping(vec![7].into())).await.unwrap();
        assert_eq!(peer.next().await.unwrap().unwrap(), Message::Pong(vec![7].into()));
        // The ping of the other side; the library answers it.
        assert!(matches!(peer.next().await.unwrap().unwrap(), Message::Ping(_)));
        peer.send(Message::Binary(vec![1].into())).await.unwrap();
        let restart = CloseFrame { code: 1012.into(), reason: "relay restarting".into() };
        peer.close(Some(restart)).await.unwrap();
        while peer.next().await.is_some_and(|m| m.is_ok()) {}
    })
    .await;
    assert_eq!(socket.rx.recv().await, Some(SocketEvent::Text(r#"["AUTH","c"]"#.into())));
    socket.tx.send(ClientFrame::Text("hello".into())).await.unwrap();
    assert_eq!(socket.rx.recv().await, Some(SocketEvent::Pong), "a sign of life");
    socket.tx.send(ClientFrame::Ping).await.unwrap();
    assert_eq!(socket.rx.recv().await, Some(SocketEvent::Pong));
    assert_eq!(socket.rx.recv().await, Some(SocketEvent::Closed { code: Some(1012) }));
    assert_eq!(socket.rx.recv().await, None);
}

#[tokio::test]
async fn an_oversized_frame_ends_the_socket() {
    let mut socket = socket(|mut peer| async move {
        let _ = peer.send(Message::Text("x".repeat(limits::FRAME_BYTES + 1).into())).await;
        while peer.next().await.is_some_and(|m| m.is_ok()) {}
    })
    .await;
    assert_eq!(socket.rx.recv().await, Some(SocketEvent::Closed { code: None }));
}

#[tokio::test]
async fn dropping_the_socket_closes_it() {
    let (done, closed) = tokio::sync::oneshot::channel();
    let socket = socket(|mut peer| async move {
        while peer.next().await.is_some_and(|m| m.is_ok()) {}
        done.send(()).unwrap();
    })
    .await;
    drop(socket);
    closed.await.unwrap();
}

/// Pitfalls B15: a session that is behind holds back the relay; nothing is dropped.
#[tokio::test]
async fn a_slow_reader_loses_nothing() {
    const FRAMES: usize = limits::SOCKET_IN_FRAMES * 3;
    let mut socket = socket(|mut peer| async move {
        for n in 0..FRAMES {
            peer.send(Message::Text(n.to_string().into())).await.unwrap();
        }
        while peer.next().await.is_some_and(|m| m.is_ok()) {}
    })
    .await;
    while socket.rx.len() < limits::SOCKET_IN_FRAMES {
        tokio::task::yield_now().await;
    }
    for n in 0..FRAMES {
        assert_eq!(socket.rx.recv().await, Some(SocketEvent::Text(n.to_string())));
    }
}
