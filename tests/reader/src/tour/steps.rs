//! The steps. Each says, does and checks.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use waggle::ids::{EventId, Target};
use waggle::model::{Manual, More, SidebarRow, SidebarSection, TimelineState, Viewport};
use waggle::session::{Timeline, TimelineOptions};
use waggle_test_relay::admin::Bring;

use super::{SOON, Stage};
use crate::app::{date, text, words};
use crate::driver::wait_until;

/// The community's busiest channel.
const BUSY: &str = "apiary-log";
/// Where the tour reads.
const READ: &str = "general";
/// Where the tour is cut off.
const CUT: &str = "swarm-watch";
/// What two devices agree on.
const SHARED: &str = "queen-rearing";

fn read(row: &SidebarRow) -> bool {
    row.observed == Some(0) && !row.strong
}

fn unread(row: &SidebarRow) -> bool {
    row.observed.is_some_and(|n| n > 0)
}

/// All of them, in order.
pub(super) async fn all(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    open(stage).await.context("opening")?;
    list(stage).context("listing channels")?;
    let timeline = page_back(stage).await.context("paging back")?;
    thread(stage, &timeline).await.context("opening a thread")?;
    drop(timeline);
    arrival(stage).await.context("a live arrival")?;
    dwell(stage).await.context("reading by looking")?;
    mark_unread(stage).await.context("marking unread")?;
    two_devices(stage).await.context("two devices")?;
    power_cut(stage).await.context("a power cut")?;
    offline(stage).await.context("reading offline")?;
    close(stage).await.context("closing")
}

async fn open(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step("Open the phone")?;
    let begun = Instant::now();
    stage.phone.start().await?;
    let ready = begun.elapsed();
    stage.phone.settle().await?;
    let sentence = stage.phone.session()?.connectivity().current().value.sentence.clone();
    stage.say(format!(
        "locally ready after {} ms, online and counted after {} ms: “{sentence}”",
        ready.as_millis(),
        begun.elapsed().as_millis()
    ))?;
    Ok(())
}

fn list(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step("List the channels")?;
    let sidebar = stage.phone.session()?.sidebar().current().value;
    for row in &sidebar.rows {
        let dot = if row.dot { "●" } else { " " };
        let weight = if row.strong { "strong" } else { "" };
        let muted = if row.bell { "muted" } else { "" };
        let counts = match (row.observed, row.attention) {
            _ if row.section == SidebarSection::Open => "open, not joined".to_owned(),
            (None, _) => "unknown".to_owned(),
            (Some(n), a) => format!("{n} unread, {} for you", a.unwrap_or(0)),
        };
        stage.say(format!("{dot} {:<24} {counts:<26} {weight} {muted}", text::fit(&text::one_line(&row.name), 24)))?;
    }
    ensure!(sidebar.rows.len() >= 10, "only {} channels are listed", sidebar.rows.len());
    ensure!(!sidebar.cached, "the list is not the relay's");
    ensure!(sidebar.rows.iter().any(|r| unread(r) && r.strong), "nothing is unread");
    ensure!(sidebar.rows.iter().any(|r| r.bell), "no channel is muted");
    Ok(())
}

async fn page_back(stage: &mut Stage<'_>) -> anyhow::Result<Timeline> {
    stage.step(&format!("Open #{BUSY} and page back to its beginning"))?;
    let channel = stage.phone.channel(BUSY)?;
    let options = TimelineOptions { limit: Some(50), utc_offset: 0 };
    let timeline = stage.phone.session()?.timeline(channel, options).await?;
    let first = timeline.state();
    ensure!(!first.rows.is_empty(), "the first page is empty");
    for row in first.rows.iter().rev().take(2).rev() {
        let said = text::fit(&text::one_line(&row.text), 56);
        stage.say(format!("{} {}: {said}", date::time(row.created_at, 0), row.author_name))?;
    }
    let mut pages = 1;
    while timeline.state().more != More::No {
        ensure!(pages < 40, "the channel has no beginning");
        let before = timeline.state().rows.len();
        timeline.load_older().await?;
        pages += 1;
        let state = timeline.state();
        ensure!(state.rows.len() > before || state.more == More::No, "a page brought nothing");
    }
    let state = timeline.state();
    in_order(&state)?;
    stage.say(format!("{pages} pages, {} rows, beginning of channel", state.rows.len()))?;
    Ok(timeline)
}

/// Rows stand oldest first, each once, with nothing missing between.
fn in_order(state: &TimelineState) -> anyhow::Result<()> {
    ensure!(state.gap.is_none(), "there is a gap");
    ensure!(state.rows.is_sorted_by_key(|r| r.created_at), "rows are out of order");
    let ids: std::collections::BTreeSet<_> = state.rows.iter().map(|r| r.id).collect();
    ensure!(ids.len() == state.rows.len(), "a row stands twice");
    Ok(())
}

async fn thread(stage: &mut Stage<'_>, channel: &Timeline) -> anyhow::Result<()> {
    stage.step("Open a thread")?;
    let state = channel.state();
    let row = state.rows.iter().rev().find(|r| r.replies >= 2 && r.thread_root.is_none());
    let row = row.context("no message has two replies")?;
    let session = stage.phone.session()?;
    let thread = session.thread(state.channel, row.id, TimelineOptions::default()).await?;
    let rows = thread.state().rows.clone();
    ensure!(rows.first().map(|r| r.id) == Some(row.id), "the thread does not begin with its root");
    let replies = u32::try_from(rows.len() - 1)?;
    ensure!(replies == row.replies, "{replies} replies are shown, {} were announced", row.replies);
    for row in rows.iter().take(3) {
        let said = text::fit(&text::one_line(&row.text), 56);
        stage.say(format!("{} {}: {said}", date::time(row.created_at, 0), row.author_name))?;
    }
    stage.say(words::replies(replies))?;
    Ok(thread.close().await?)
}

/// Somebody writes. The id of what they wrote.
fn somebody_writes(stage: &Stage<'_>, channel: &str, said: &str) -> anyhow::Result<EventId> {
    let community = &stage.embedded.community;
    let keys = community.people.get("mara").context("Mara is not here")?;
    let id = community.channels.get(channel).context("the channel is not here")?;
    let event = keys.sign(stage.embedded.seconds(), 9, vec![vec!["h".to_owned(), id.clone()]], said);
    let written = EventId::parse(&event.id)?;
    stage.embedded.relay.admin().accept(event, &Bring::default())??;
    Ok(written)
}

async fn arrival(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step(&format!("See a message arrive in #{READ}"))?;
    let channel = stage.phone.channel(READ)?;
    let timeline = stage.phone.session()?.timeline(channel, TimelineOptions::default()).await?;
    let begun = Instant::now();
    let id = somebody_writes(stage, READ, "Kettle is on in the honey house, if anybody is near.")?;
    let shown = wait_until(&timeline.view(), SOON, |s| s.rows.last().is_some_and(|r| r.id == id)).await;
    shown.context("it does not arrive")?;
    stage.say(format!("it is the newest row after {} ms", begun.elapsed().as_millis()))?;
    Ok(timeline.close().await?)
}

async fn dwell(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step(&format!("Look at the end of #{READ} until its badge clears"))?;
    let channel = stage.phone.channel(READ)?;
    stage.phone.until_row(channel, SOON, unread).await?;
    let before = stage.phone.row(channel)?;
    let session = stage.phone.session()?.clone();
    let timeline = session.timeline(channel, TimelineOptions::default()).await?;
    let surface = session.surface(channel, None).await?;
    let rows = timeline.state().rows.clone();
    let visible = rows.iter().rev().take(12).rev().map(|r| r.id).collect();
    let bottom = rows.last().map(|r| r.id);
    let begun = Instant::now();
    surface.report(Viewport { active: true, settled: true, visible, bottom });
    tokio::time::sleep(Duration::from_millis(150)).await;
    ensure!(unread(&*stage.phone.row(channel)?), "it was read before anybody could have read it");
    stage.phone.until_row(channel, SOON, |r| !r.strong).await?;
    stage.say(format!(
        "{} unread became {} after {} ms of looking",
        words::count(before.observed),
        words::count(stage.phone.row(channel)?.observed),
        begun.elapsed().as_millis()
    ))?;
    surface.close();
    Ok(timeline.close().await?)
}

async fn mark_unread(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step(&format!("Mark #{READ} unread by hand, and take it back"))?;
    let channel = stage.phone.channel(READ)?;
    let session = stage.phone.session()?.clone();
    session.mark_unread(Target::Channel(channel)).await?;
    let row = stage.phone.row(channel)?;
    ensure!(row.strong && row.manual == Manual::LocalOnly, "the mark does not show");
    stage.say("the label is strong, on this device only")?;
    session.clear_unread(Target::Channel(channel)).await?;
    let row = stage.phone.row(channel)?;
    ensure!(!row.strong && row.manual == Manual::None, "the mark stays");
    stage.say("and plain again")?;
    Ok(())
}

/// Somebody writes; completes when both devices count it.
async fn unread_on_both(stage: &Stage<'_>, name: &str, said: &str) -> anyhow::Result<()> {
    let channel = stage.phone.channel(name)?;
    let (phone, tablet) = (stage.phone.row(channel)?.observed, stage.tablet.row(channel)?.observed);
    somebody_writes(stage, name, said)?;
    stage.phone.until_row(channel, SOON, |r| r.observed > phone).await?;
    stage.tablet.until_row(channel, SOON, |r| r.observed > tablet).await
}

async fn two_devices(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step("Open the tablet: what the phone reads, the tablet shows")?;
    stage.tablet.start().await?;
    stage.tablet.settle().await?;
    let channel = stage.phone.channel(SHARED)?;
    unread_on_both(stage, SHARED, "Grafts are in. Twenty cells, I hope for twelve.").await?;
    stage.say(format!("#{SHARED} is unread on both"))?;
    let session = stage.phone.session()?;
    session.mark_channel_read(channel).await?;
    let begun = Instant::now();
    session.flush().await.context("the phone cannot publish")?;
    stage.tablet.until_row(channel, SOON, read).await?;
    stage.say(format!("read on the phone, published; read on the tablet {} ms later", begun.elapsed().as_millis()))?;
    Ok(())
}

async fn power_cut(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step("Cut the phone's power between saving and publishing")?;
    let channel = stage.phone.channel(CUT)?;
    unread_on_both(stage, CUT, "Football-sized, on the plum by the gate, two metres up.").await?;
    stage.phone.session()?.mark_channel_read(channel).await?;
    stage.phone.kill().await?;
    ensure!(unread(&*stage.tablet.row(channel)?), "it was published before the power went");
    stage
        .say(format!("#{CUT} was saved as read; the power went before anybody was told; the tablet shows it unread"))?;
    stage.phone.line.cut();
    stage.phone.start().await?;
    stage.phone.until_row(channel, SOON, read).await.context("the phone forgot what it had saved")?;
    stage.say("back on, without a network: the phone still knows it is read")?;
    stage.phone.line.mend();
    stage.phone.session()?.network_changed().await?;
    stage.phone.settle().await?;
    stage.phone.until_row(channel, SOON, read).await?;
    stage.tablet.until_row(channel, SOON, read).await?;
    stage.say("and with a network it publishes what it had saved: the tablet shows it read")?;
    Ok(())
}

async fn offline(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step("Cut the network and go on reading")?;
    let session = stage.phone.session()?.clone();
    let channel = stage.phone.channel(READ)?;
    // Held from now on, so that it can be read without a network.
    let held = session.timeline(channel, TimelineOptions::default()).await?.state().rows.len();
    stage.phone.line.cut();
    let line = wait_until(&session.connectivity(), SOON, |c| c.phase != waggle::model::Phase::Online).await;
    let sentence = line.context("nobody notices that the network is gone")?.sentence.clone();
    stage.say(format!("“{sentence}”"))?;
    let timeline = session.timeline(channel, TimelineOptions::default()).await?;
    let rows = timeline.state().rows.len();
    ensure!(rows > 0, "nothing can be read offline");
    stage.say(format!("{rows} of {held} rows are here all the same"))?;
    stage.phone.line.mend();
    session.network_changed().await?;
    stage.phone.settle().await?;
    stage.say(format!("back: “{}”", session.connectivity().current().value.sentence))?;
    Ok(timeline.close().await?)
}

async fn close(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    stage.step("Close both")?;
    stage.phone.close().await?;
    stage.tablet.close().await?;
    let open = stage.embedded.relay.admin().open_sockets();
    ensure!(open == 0, "{open} sockets are still open");
    stage.say("published, files and sockets released")?;
    Ok(())
}
