//! The axum front over real loopback HTTP and WebSocket.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use support::*;
use tokio::net::TcpListener;
use tokio_tungstenite::{connect_async, tungstenite::Message};
use waggle_test_relay::{
    Relay, RelayClock, RelayConfig, SystemClock,
    faults::{Fault, FaultKind},
    sha256, tags,
};

type Ws = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

async fn start() -> (Relay, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let mut config = RelayConfig::new(std::sync::Arc::new(SystemClock));
    config.host = host.clone();
    config.secure = false;
    let relay = Relay::open(config).unwrap();
    furnish(&relay);
    tokio::spawn(relay.clone().serve(listener));
    (relay, host)
}

fn now() -> u64 {
    SystemClock.now_ms() / 1000
}

async fn post(host: &str, path: &str, body: String, nonce: &str) -> Result<(u16, Value), reqwest::Error> {
    let url = format!("http://{host}{path}");
    let payload = hex::encode(sha256(body.as_bytes()));
    let list = tags(&[&["u", &url], &["method", "POST"], &["payload", &payload], &["nonce", nonce]]);
    let header = header_of(&person("me").sign(now(), 27235, list, ""));
    // The workspace builds reqwest without a crypto provider of its own.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let answer = client.post(&url).header("authorization", header).body(body).send().await?;
    assert!(answer.headers().contains_key("date"));
    let status = answer.status().as_u16();
    let bytes = answer.bytes().await?;
    Ok((status, serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into())))
}

async fn next(ws: &mut Ws) -> Value {
    loop {
        match ws.next().await.unwrap().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Close(_) => return json!("closed"),
            _ => {}
        }
    }
}

async fn say(ws: &mut Ws, frame: Value) {
    ws.send(Message::Text(frame.to_string().into())).await.unwrap();
}

#[tokio::test]
async fn query_publish_and_faults_over_loopback() {
    let (relay, host) = start().await;
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let doc: Value = reqwest::get(format!("http://{host}/"))
        .await
        .unwrap()
        .bytes()
        .await
        .map(|b| serde_json::from_slice(&b).unwrap())
        .unwrap();
    assert_eq!(doc["self"], relay.public_key());
    let event = message("me", now(), GENERAL, &[], "over loopback");
    let (status, answer) = post(&host, "/events", event.json.to_string(), "1").await.unwrap();
    assert_eq!((status, &answer["message"]), (200, &json!("")));
    let window = json!([{ "kinds": [9], "#h": [GENERAL], "top_level": true }]).to_string();
    let (_, answer) = post(&host, "/query", window.clone(), "2").await.unwrap();
    assert_eq!(answer[0]["content"], "over loopback");
    let (status, answer) = post(&host, "/query", "x".repeat(1_048_577), "3").await.unwrap();
    assert_eq!((status, answer), (413, json!("length limit exceeded")));
    relay.fault(Fault::once(FaultKind::TruncatedBody));
    assert!(post(&host, "/query", window, "4").await.is_err(), "a cut body is a broken connection");
    relay.fault(Fault::once(FaultKind::PublishLost));
    let blob = person("me").sign(now(), 30078, tags(&[&["d", "app"]]), "x");
    assert!(post(&host, "/events", blob.json.to_string(), "5").await.is_err(), "a lost answer too");
    assert!(relay.admin().event(&blob.id).unwrap().is_some());
}

#[tokio::test]
async fn a_real_socket_authenticates_subscribes_and_hears() {
    let (relay, host) = start().await;
    let (mut ws, _) = connect_async(format!("ws://{host}/")).await.unwrap();
    let challenge = next(&mut ws).await[1].as_str().unwrap().to_owned();
    // Loopback names are one for AUTH, as measured.
    let named = format!("ws://{}/", host.replace("127.0.0.1", "localhost"));
    let auth = person("me").sign(now(), 22242, tags(&[&["relay", &named], &["challenge", &challenge]]), "");
    say(&mut ws, json!(["AUTH", value(&auth)])).await;
    assert_eq!(next(&mut ws).await, json!(["OK", auth.id, true, ""]));
    say(&mut ws, json!(["REQ", "s", { "kinds": [9], "#h": [GENERAL], "limit": 0 }])).await;
    assert_eq!(next(&mut ws).await, json!(["EOSE", "s"]));
    let event = message("ada", now(), GENERAL, &[], "hello");
    relay.admin().accept(event.clone(), &waggle_test_relay::admin::Bring::default()).unwrap().unwrap();
    assert_eq!(next(&mut ws).await, json!(["EVENT", "s", value(&event)]));
    relay.admin().restart();
    loop {
        match ws.next().await {
            Some(Ok(Message::Close(frame))) => {
                let frame = frame.unwrap();
                assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1012, "relay restarting"));
                break;
            }
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_frame_above_512_kib_ends_the_connection() {
    let (_relay, host) = start().await;
    let (mut ws, _) = connect_async(format!("ws://{host}/")).await.unwrap();
    next(&mut ws).await;
    ws.send(Message::Text("x".repeat(600_000).into())).await.unwrap();
    assert_eq!(next(&mut ws).await, json!("closed"));
}
