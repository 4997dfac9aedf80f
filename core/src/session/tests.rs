//! The session's task as its owner sees it. What sessions do is shown by scenarios; these are about how they fail.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Config, Credential, Waggle};
use crate::error::{Error, NetworkFailure};
use crate::identity::{MemorySecrets, Secret};
use crate::ids::{ChannelId, Target};
use crate::model::Phase;
use crate::relay::transport::{HttpRequest, HttpResponse, Socket, SocketRequest, Transport};

/// A relay that answers nothing, or a fault of the program.
struct Broken {
    panics: bool,
}

impl Transport for Broken {
    fn http(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, NetworkFailure>> {
        let panics = self.panics;
        Box::pin(async move {
            assert!(!panics, "a fault of the program");
            Err(NetworkFailure::TimedOut)
        })
    }

    fn connect(&self, _: SocketRequest) -> BoxFuture<'static, Result<Socket, NetworkFailure>> {
        Box::pin(std::future::ready(Err(NetworkFailure::Lost)))
    }
}

async fn session(dir: &std::path::Path, panics: bool) -> super::Session {
    let config = Config::new(dir.to_owned(), Arc::new(MemorySecrets::new()), Arc::new(Broken { panics }));
    let client = Waggle::open(config).unwrap();
    client.sign_in(Credential::Full(Secret::from_bytes([7; 32]).unwrap())).await.unwrap();
    client.session("wss://relay.example").unwrap()
}

#[tokio::test]
async fn a_panic_in_a_task_is_a_session_failure_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let session = session(dir.path(), true).await;
    let line = session.connectivity();
    session.start().await.unwrap();
    let mut version = 0;
    loop {
        let now = line.next(version).await.unwrap();
        version = now.version;
        if now.value.error == Some(Error::Failed { task: "discovery" }) {
            break;
        }
    }
    assert_eq!(line.current().value.phase, Phase::Closed);
    assert_eq!(session.flush().await, Err(Error::Closed));
}

#[tokio::test]
async fn a_relay_that_answers_nothing_leaves_a_session_that_can_be_used_and_closed() {
    let dir = tempfile::tempdir().unwrap();
    let session = session(dir.path(), false).await;
    assert!(session.ensure().await.is_err(), "not started yet");
    session.start().await.unwrap();
    let channel = ChannelId([1; 16]);
    assert_eq!(session.snapshot(Target::Channel(channel)).await.unwrap().observed, None);
    assert_eq!(session.mark_channel_read(channel).await, Err(Error::Denied));
    assert_eq!(session.close().await, Ok(()));
    assert_eq!(session.ensure().await, Err(Error::Closed));
    // Everything is released: the same files open again at once.
    let again = self::session(dir.path(), false).await;
    again.start().await.unwrap();
    again.close().await.unwrap();
}
