//! A transport that stands between a session and the test relay, and can put anything in the place of what the relay said.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use waggle::error::NetworkFailure;
use waggle::limits;
use waggle::relay::transport::{ClientFrame, HttpRequest, HttpResponse, Socket, SocketEvent, SocketRequest, Transport};
use waggle::request::Purpose;
use waggle_scenarios::transport::InProcess;

/// What becomes of an answer.
pub(crate) type Edit = Arc<dyn Fn(HttpResponse) -> HttpResponse + Send + Sync>;

#[derive(Default)]
struct Plan {
    edit: Option<(Purpose, u32, Edit)>,
    /// Into the open socket, as if the relay had sent it.
    into: Option<mpsc::Sender<SocketEvent>>,
    /// What the session sent, newest last.
    sent: Vec<String>,
    /// How many edits were made.
    edited: u32,
    /// Nothing is answered any more.
    silent: bool,
}

pub(crate) struct Tamper {
    inner: InProcess,
    plan: Arc<Mutex<Plan>>,
}

impl Tamper {
    pub(crate) fn new(inner: InProcess) -> Arc<Self> {
        Arc::new(Self { inner, plan: Arc::default() })
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next `times` answers of this purpose are edited.
    pub(crate) fn edit(&self, purpose: Purpose, times: u32, edit: Edit) {
        let mut plan = self.plan();
        plan.edit = Some((purpose, times, edit));
        plan.edited = 0;
    }

    /// How many edits there were since the last plan.
    pub(crate) fn edited(&self) -> u32 {
        self.plan().edited
    }

    /// No more edits; how many there were.
    pub(crate) fn honest(&self) -> u32 {
        let mut plan = self.plan();
        plan.edit = None;
        plan.edited
    }

    /// No request is answered any more.
    pub(crate) fn fall_silent(&self) {
        self.plan().silent = true;
    }

    /// Puts a frame into the open socket.
    pub(crate) fn inject(&self, text: String) -> bool {
        self.plan().into.as_ref().is_some_and(|into| into.try_send(SocketEvent::Text(text)).is_ok())
    }

    /// The name of a live subscription that mentions `text`.
    pub(crate) fn subscription(&self, text: &str) -> Option<String> {
        let plan = self.plan();
        let req = plan.sent.iter().rev().find(|f| f.starts_with("[\"REQ\"") && f.contains(text))?;
        req.split('"').nth(3).map(str::to_owned)
    }
}

impl Transport for Tamper {
    fn http(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, NetworkFailure>> {
        let edit = {
            let mut plan = self.plan();
            if plan.silent {
                return Box::pin(std::future::pending());
            }
            let planned = plan.edit.as_mut().filter(|(p, times, _)| *p == request.purpose && *times > 0);
            let edit = planned.map(|(_, times, edit)| {
                *times -= 1;
                edit.clone()
            });
            plan.edited += u32::from(edit.is_some());
            edit
        };
        let most = request.max_body;
        let answer = self.inner.http(request);
        Box::pin(async move {
            let Some(edit) = edit else { return answer.await };
            let answer = edit(answer.await?);
            // As the real transport does while reading.
            if answer.body.len() > most { Err(NetworkFailure::Oversized) } else { Ok(answer) }
        })
    }

    fn connect(&self, request: SocketRequest) -> BoxFuture<'static, Result<Socket, NetworkFailure>> {
        let (inner, plan) = (self.inner.connect(request), self.plan.clone());
        Box::pin(async move {
            let Socket { tx, mut rx } = inner.await?;
            let (into, out) = mpsc::channel(limits::SOCKET_IN_FRAMES);
            let (up, mut outgoing) = mpsc::channel(limits::SOCKET_OUT_FRAMES);
            let lock = |plan: &Mutex<Plan>, work: &mut dyn FnMut(&mut Plan)| {
                work(&mut plan.lock().unwrap_or_else(PoisonError::into_inner));
            };
            lock(&plan, &mut |p| p.into = Some(into.clone()));
            tokio::spawn(async move {
                loop {
                    tokio::select! {
                        biased;
                        () = into.closed() => return,
                        event = rx.recv() => {
                            let Some(event) = event else { return };
                            if into.send(event).await.is_err() { return }
                        }
                        frame = outgoing.recv() => {
                            let Some(frame) = frame else { return };
                            if let ClientFrame::Text(text) = &frame {
                                lock(&plan, &mut |p| p.sent.push(text.clone()));
                            }
                            if tx.send(frame).await.is_err() { return }
                        }
                    }
                }
            });
            Ok(Socket { tx: up, rx: out })
        })
    }
}
