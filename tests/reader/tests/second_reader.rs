//! A second reader on the same embedded relay, over real HTTP and WebSockets: another device of the same account.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use waggle::identity::{MemorySecrets, Secret};
use waggle::model::{Phase, SidebarRow};
use waggle::relay::net::{NetConfig, NetTransport};
use waggle::relay::transport::Transport;
use waggle::session::{Config, Credential, Session, Waggle};
use waggle_reader::driver::wait_until;
use waggle_reader::embedded::{Embedded, Options};
use waggle_test_relay::{Dialect, Storage, SystemClock};

const SOON: Duration = Duration::from_secs(20);

async fn open(dir: &Path, transport: Arc<dyn Transport>, secret: Secret, address: &str) -> Session {
    let client = Waggle::open(Config::new(dir.to_owned(), Arc::new(MemorySecrets::new()), transport)).unwrap();
    client.sign_in(Credential::Full(secret)).await.unwrap();
    let session = client.session(address).unwrap();
    session.start().await.unwrap();
    let online = wait_until(&session.connectivity(), SOON, |c| c.phase == Phase::Online).await;
    assert!(online.is_some(), "{:?}", session.connectivity().current());
    session.ensure().await.unwrap();
    session
}

async fn until(session: &Session, name: &str, holds: impl Fn(&SidebarRow) -> bool) -> Arc<SidebarRow> {
    let seen = wait_until(&session.sidebar(), SOON, |s| s.rows.iter().any(|r| r.name == name && holds(r))).await;
    seen.unwrap().rows.iter().find(|r| r.name == name).unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_reads_the_other_shows() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mut embedded = Embedded::open(Options {
        host: listener.local_addr().unwrap().to_string(),
        dialect: Dialect::Current,
        storage: Storage::Memory,
        clock: Arc::new(SystemClock),
    })
    .unwrap();
    embedded.serve(listener);
    let (desk_dir, tablet_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let address = embedded.address();
    let desk = open(desk_dir.path(), embedded.line("desk"), embedded.viewer().unwrap(), &address).await;
    let net = Arc::new(NetTransport::new(NetConfig::default()).unwrap());
    let tablet = open(tablet_dir.path(), net, embedded.viewer().unwrap(), &address).await;
    let unread = |r: &SidebarRow| r.observed.is_some_and(|n| n > 0);
    let row = until(&desk, "queen-rearing", unread).await;
    until(&tablet, "queen-rearing", unread).await;
    tablet.mark_channel_read(row.channel).await.unwrap();
    tablet.flush().await.unwrap();
    until(&desk, "queen-rearing", |r| r.observed == Some(0)).await;
    desk.close().await.unwrap();
    tablet.close().await.unwrap();
}
