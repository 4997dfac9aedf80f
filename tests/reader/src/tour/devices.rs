//! A device of the tour: a directory, a line to the relay, and the session on them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use waggle::identity::MemorySecrets;
use waggle::ids::ChannelId;
use waggle::model::{Phase, SidebarRow};
use waggle::session::{Client, Config, Credential, Session, Waggle};

use super::SOON;
use crate::driver::wait_until;
use crate::embedded::{Embedded, Line};

/// A phone or a tablet.
pub struct Device {
    /// Its name.
    pub name: &'static str,
    /// Its line.
    pub line: Arc<Line>,
    client: Client,
    secret: waggle::identity::Secret,
    address: String,
    session: Option<Session>,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.name)
    }
}

impl Device {
    /// A device that was just bought.
    pub fn new(embedded: &Embedded, name: &'static str, dir: PathBuf) -> anyhow::Result<Self> {
        let line = embedded.line(name);
        let client = Waggle::open(Config::new(dir, Arc::new(MemorySecrets::new()), line.clone()))?;
        Ok(Self { name, line, client, secret: embedded.viewer()?, address: embedded.address(), session: None })
    }

    /// Signs in, opens a session on what the directory holds, and connects.
    pub async fn start(&mut self) -> anyhow::Result<()> {
        self.client.sign_in(Credential::Full(self.secret.clone())).await?;
        let session = self.client.session(&self.address)?;
        session.start().await.context("the session does not start")?;
        self.session = Some(session);
        Ok(())
    }

    /// Waits until it is online and has counted what is unread.
    pub async fn settle(&self) -> anyhow::Result<()> {
        let session = self.session()?;
        let online = wait_until(&session.connectivity(), SOON, |c| c.phase == Phase::Online).await;
        online.with_context(|| format!("the {} does not get online", self.name))?;
        session.ensure().await.context("what is unread cannot be counted")?;
        Ok(())
    }

    /// Its session.
    pub fn session(&self) -> anyhow::Result<&Session> {
        self.session.as_ref().with_context(|| format!("the {} is off", self.name))
    }

    /// Ends it as a power cut would. Completes when nothing of it runs any more.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        let session = self.session.take().context("it is off already")?;
        let view = session.connectivity();
        session.kill();
        drop(session);
        // The view ends with the session's task.
        let _ended = wait_until(&view, SOON, |_| false).await;
        Ok(())
    }

    /// Ends it properly.
    pub async fn close(&mut self) -> anyhow::Result<()> {
        if let Some(session) = self.session.take() {
            session.close().await?;
        }
        Ok(())
    }

    /// A channel by the name its list shows.
    pub fn channel(&self, name: &str) -> anyhow::Result<ChannelId> {
        let sidebar = self.session()?.sidebar().current().value;
        let row = sidebar.rows.iter().find(|r| r.name == name);
        Ok(row.with_context(|| format!("the {} lists no {name}", self.name))?.channel)
    }

    /// A channel's row in its list.
    pub fn row(&self, channel: ChannelId) -> anyhow::Result<Arc<SidebarRow>> {
        let sidebar = self.session()?.sidebar().current().value;
        let row = sidebar.rows.iter().find(|r| r.channel == channel).cloned();
        row.context("the channel is no longer listed")
    }

    /// Waits until a channel's row looks so.
    pub async fn until_row(
        &self,
        channel: ChannelId,
        longest: Duration,
        holds: impl Fn(&SidebarRow) -> bool,
    ) -> anyhow::Result<()> {
        let view = self.session()?.sidebar();
        let seen = wait_until(&view, longest, |s| s.rows.iter().any(|r| r.channel == channel && holds(r))).await;
        seen.map(|_| ()).with_context(|| {
            let row = self.row(channel).ok();
            let facts = row.map(|r| (r.observed, r.attention, r.strong, r.dot, r.manual));
            format!("the {}'s row does not come to look so; it is {facts:?}", self.name)
        })
    }
}
