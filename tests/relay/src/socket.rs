//! In-process WebSockets and the connections behind them.
//!
//! A socket's frames come through an unbounded channel that ends when the relay drops the connection. The receiving half
//! answers pings by itself, as WebSocket libraries do while a caller reads; a caller that stops reading stops answering and
//! is dropped after three missed pongs.

use std::{
    collections::BTreeMap,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, error::TryRecvError, unbounded_channel};

use crate::{Relay, Settings, filter::Filter, live::Scope, state::State};

/// Milliseconds a client has for its AUTH.
pub(crate) const AUTH_DEADLINE_MS: u64 = 5_000;
/// Milliseconds between pings.
pub(crate) const PING_MS: u64 = 30_000;
/// Unanswered pings after which a peer is dead.
pub(crate) const MISSED_PONGS: u8 = 3;

/// What the relay sends on a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerFrame {
    /// A text frame.
    Text(String),
    /// A ping.
    Ping,
    /// The end of the connection. Without a code it is closed without one.
    Close {
        /// The close code.
        code: Option<u16>,
    },
}

/// How far a connection's NIP-42 exchange is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Auth {
    Waiting,
    Failed,
    In(String),
}

/// A subscription.
pub(crate) struct Sub {
    pub(crate) filters: Vec<Filter>,
    pub(crate) scope: Scope,
}

/// A connection.
pub(crate) struct Conn {
    pub(crate) label: Option<String>,
    pub(crate) settings: Settings,
    pub(crate) challenge: String,
    pub(crate) auth: Auth,
    pub(crate) opened_ms: u64,
    pub(crate) pinged_ms: u64,
    pub(crate) unanswered: u8,
    pub(crate) subs: BTreeMap<String, Sub>,
    pub(crate) frames: UnboundedSender<ServerFrame>,
}

impl Conn {
    /// Who is at the other end, once authenticated.
    pub(crate) fn pubkey(&self) -> Option<&str> {
        match &self.auth {
            Auth::In(pubkey) => Some(pubkey),
            _ => None,
        }
    }
}

/// Opens a connection; its first frame is the AUTH challenge.
pub(crate) fn open(relay: &Relay, label: Option<String>) -> Socket {
    let (sender, frames) = unbounded_channel();
    let mut state = relay.state();
    let id = state.next_conn;
    state.next_conn += 1;
    let challenge = hex::encode(state.draws.next());
    let now = state.now_ms;
    let conn = Conn {
        label,
        settings: state.settings.clone(),
        challenge: challenge.clone(),
        auth: Auth::Waiting,
        opened_ms: now,
        pinged_ms: now,
        unanswered: 0,
        subs: BTreeMap::new(),
        frames: sender,
    };
    state.conns.insert(id, conn);
    state.send(id, format!(r#"["AUTH","{challenge}"]"#));
    state.flush();
    drop(state);
    Socket {
        sender: SocketSender { id, relay: relay.clone() },
        receiver: SocketReceiver { id, relay: relay.clone(), frames },
    }
}

/// One in-process WebSocket. Dropping it closes the connection.
#[derive(Debug)]
pub struct Socket {
    sender: SocketSender,
    receiver: SocketReceiver,
}

impl Socket {
    /// Sends a text frame; false when the connection is gone.
    pub fn send(&self, text: impl AsRef<str>) -> bool {
        self.sender.send(text)
    }

    /// The next frame, or nothing once the connection has ended. Answers pings.
    pub async fn recv(&mut self) -> Option<ServerFrame> {
        self.receiver.recv().await
    }

    /// The next frame if one is there.
    pub fn try_recv(&mut self) -> Option<ServerFrame> {
        self.receiver.try_recv()
    }

    /// Closes the connection.
    pub fn close(&self) {
        self.sender.close();
    }

    /// The two halves; dropping the receiving one closes the connection.
    pub fn split(self) -> (SocketSender, SocketReceiver) {
        (self.sender, self.receiver)
    }
}

/// The sending half.
#[derive(Debug, Clone)]
pub struct SocketSender {
    id: u64,
    relay: Relay,
}

impl SocketSender {
    /// Sends a text frame; false when the connection is gone.
    pub fn send(&self, text: impl AsRef<str>) -> bool {
        let mut state = self.relay.state();
        let open = state.conns.contains_key(&self.id);
        if open {
            state.frame(self.id, text.as_ref());
            state.flush();
        }
        open
    }

    /// Answers a ping; the receiving half does so by itself.
    pub fn pong(&self) {
        self.relay.state().pong(self.id);
    }

    /// Closes the connection.
    pub fn close(&self) {
        self.relay.state().conns.remove(&self.id);
    }
}

/// The receiving half.
#[derive(Debug)]
pub struct SocketReceiver {
    id: u64,
    relay: Relay,
    frames: UnboundedReceiver<ServerFrame>,
}

impl SocketReceiver {
    /// The next frame, or nothing once the connection has ended. Answers pings.
    pub async fn recv(&mut self) -> Option<ServerFrame> {
        let frame = self.frames.recv().await;
        self.answer(frame.as_ref());
        frame
    }

    /// The next frame; pings are left to the real peer to answer.
    pub(crate) async fn recv_without_pong(&mut self) -> Option<ServerFrame> {
        self.frames.recv().await
    }

    /// The next frame if one is there.
    pub fn try_recv(&mut self) -> Option<ServerFrame> {
        let frame = self.frames.try_recv().ok();
        self.answer(frame.as_ref());
        frame
    }

    /// Whether the connection has ended and nothing is left to read.
    pub fn is_finished(&mut self) -> bool {
        self.frames.is_empty() && matches!(self.frames.try_recv(), Err(TryRecvError::Disconnected))
    }

    fn answer(&self, frame: Option<&ServerFrame>) {
        if frame == Some(&ServerFrame::Ping) {
            self.relay.state().pong(self.id);
        }
    }
}

impl futures_util::Stream for SocketReceiver {
    type Item = ServerFrame;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerFrame>> {
        let polled = self.frames.poll_recv(cx);
        if let Poll::Ready(frame) = &polled {
            self.answer(frame.as_ref());
        }
        polled
    }
}

impl Drop for SocketReceiver {
    fn drop(&mut self) {
        self.relay.state().conns.remove(&self.id);
    }
}

impl State {
    /// Queues a text frame.
    pub(crate) fn send(&mut self, conn: u64, text: String) {
        self.outbox.push((conn, ServerFrame::Text(text)));
    }

    /// Lets the queued frames go, in order.
    pub(crate) fn flush(&mut self) {
        for (conn, frame) in std::mem::take(&mut self.outbox) {
            if let Some(conn) = self.conns.get(&conn) {
                // The reader may be gone already; its drop removes the connection.
                let _gone = conn.frames.send(frame);
            }
        }
    }

    /// Ends a connection from the relay's side.
    pub(crate) fn hang_up(&mut self, conn: u64, code: Option<u16>) {
        self.flush();
        if let Some(conn) = self.conns.remove(&conn) {
            let _gone = conn.frames.send(ServerFrame::Close { code });
        }
    }

    pub(crate) fn pong(&mut self, conn: u64) {
        if let Some(conn) = self.conns.get_mut(&conn) {
            conn.unanswered = 0;
        }
    }

    /// Timers: the AUTH deadline, pings, peers that no longer answer.
    pub(crate) fn tick(&mut self) {
        let now = self.now_ms;
        let (mut dead, mut pinged) = (Vec::new(), Vec::new());
        for (id, conn) in &mut self.conns {
            if conn.pubkey().is_none() && conn.auth == Auth::Waiting && now >= conn.opened_ms + AUTH_DEADLINE_MS {
                dead.push(*id);
            } else if now >= conn.pinged_ms + PING_MS {
                // However far the clock moved, one ping stands for it: a leap of virtual time is no silence of the peer.
                conn.pinged_ms = now;
                if conn.unanswered >= MISSED_PONGS {
                    dead.push(*id);
                } else {
                    conn.unanswered += 1;
                    pinged.push(*id);
                }
            }
        }
        self.outbox.extend(pinged.into_iter().map(|id| (id, ServerFrame::Ping)));
        self.flush();
        for id in dead {
            self.hang_up(id, None);
        }
        self.replay.retain(|_, until| *until > now);
    }
}
