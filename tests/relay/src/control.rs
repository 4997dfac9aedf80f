//! Commands on standard input, for tests in other languages: one a line, answered by one line each.
//!
//! | command | what it does | answer |
//! | --- | --- | --- |
//! | `channel NAME` | | `ok UUID` |
//! | `post CHANNEL AUTHOR TEXT…` | posts a message | `ok EVENT` |
//! | `reply CHANNEL AUTHOR ROOT TEXT…` | posts a reply to the thread's root | `ok EVENT` |
//! | `burst CHANNEL AUTHOR COUNT` | posts `#1` to `#COUNT`, one by one | `ok COUNT` |
//! | `drop` | ends every connection without a farewell | `ok CONNECTIONS` |
//!
//! Channels and people go by their names in the seeded community. Anything that is refused is answered with `error TEXT`. The end
//! of the input ends the relay, so that none outlives its test.

use std::io::{BufRead as _, Write as _};

use anyhow::{Context as _, ensure};
use tokio::sync::oneshot;
use waggle_test_relay::{Relay, admin::Bring, community::Community};

use crate::now;

/// Carries out commands on a thread of its own; the answer comes when the input has ended.
pub(crate) fn start(relay: Relay, community: Community) -> oneshot::Receiver<std::io::Result<()>> {
    let (sender, ended) = oneshot::channel();
    std::thread::spawn(move || {
        // Nobody waits any more when the relay ends by itself.
        let _ = sender.send(run(&relay, &community));
    });
    ended
}

fn run(relay: &Relay, community: &Community) -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let answer = match carry_out(relay, community, &line?) {
            Ok(answer) => format!("ok {answer}"),
            Err(error) => format!("error {error:#}"),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn carry_out(relay: &Relay, community: &Community, line: &str) -> anyhow::Result<String> {
    let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
    let words: Vec<&str> = rest.splitn(if command == "reply" { 4 } else { 3 }, ' ').collect();
    match (command, words.as_slice()) {
        ("channel", &[name]) => Ok(channel(community, name)?.to_owned()),
        ("post", &[place, by, text]) => post(relay, community, (place, by), None, text),
        ("reply", &[place, by, root, text]) => post(relay, community, (place, by), Some(root), text),
        ("burst", &[place, by, count]) => {
            let count: u32 = count.parse().context("no number")?;
            (1..=count).try_for_each(|n| post(relay, community, (place, by), None, &format!("#{n}")).map(drop))?;
            Ok(count.to_string())
        }
        ("drop", _) => Ok(relay.admin().drop_sockets(None).to_string()),
        _ => anyhow::bail!("no such command"),
    }
}

fn channel<'a>(community: &'a Community, name: &str) -> anyhow::Result<&'a str> {
    community.channels.get(name).map(String::as_str).with_context(|| format!("no channel is called {name}"))
}

fn post(
    relay: &Relay,
    community: &Community,
    (place, by): (&str, &str),
    root: Option<&str>,
    text: &str,
) -> anyhow::Result<String> {
    let keys = community.people.get(by).with_context(|| format!("nobody is called {by}"))?;
    let mut tags = vec![vec!["h".to_owned(), channel(community, place)?.to_owned()]];
    tags.extend(root.map(|root| vec!["e".to_owned(), root.to_owned(), String::new(), "reply".to_owned()]));
    let event = keys.sign(now(), 9, tags, text);
    let id = event.id.clone();
    let answer = relay.admin().accept(event, &Bring::default())??;
    ensure!(answer.accepted, "{}", answer.message);
    Ok(id)
}
