//! From touched targets to new values of views. Nothing that was not touched is computed, and everything computed in one settling is
//! handed out together.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Marks;
use super::words::{self, Scene};
use super::{Change, Engine, Room};
use crate::directory::profiles::Profiles;
use crate::event::Event;
use crate::ids::{ChannelId, EventId, PublicKey, Target};
use crate::model::SidebarRow;
use crate::sidebar::{Conversation, conversation_name, row};
use crate::timeline::RowFacts;
use crate::unread::{Dirty, MarkSource as _, Unread};
use crate::window::TimelineKey;

impl Engine {
    pub(super) fn project(&mut self) {
        let dirty = self.unread.take_dirty();
        self.project_targets(&dirty);
        self.project_timelines(&dirty);
        self.project_sidebar(&dirty);
        self.project_status();
    }

    fn project_targets(&mut self, dirty: &Dirty) {
        if dirty.is_empty() {
            return;
        }
        let targets: Vec<Target> = if dirty.all {
            self.watched.iter().copied().collect()
        } else {
            let channels = dirty.channels.iter().map(|c| Target::Channel(*c));
            let threads = dirty.threads.iter().map(|(c, root)| Target::Thread(*c, *root));
            let messages = dirty.messages.iter().map(|(c, id)| Target::Message(*c, *id));
            channels.chain(threads).chain(messages).filter(|t| self.watched.contains(t)).collect()
        };
        let marks = Marks(&self.record, &self.visits);
        for target in targets {
            self.changes.push(Change::Unread(target, self.unread.snapshot(&target, &marks)));
        }
        for channel in &self.watched_activity {
            if dirty.all || dirty.activity.binary_search(channel).is_ok() {
                self.changes.push(Change::Activity(*channel, self.unread.thread_activity(*channel)));
            }
        }
    }

    fn project_timelines(&mut self, dirty: &Dirty) {
        for (channel, root) in &dirty.threads {
            self.timelines.touch_thread(*channel, root);
        }
        if dirty.all {
            let open: BTreeSet<ChannelId> = self.openings.keys().map(|key| key.channel).collect();
            open.into_iter().for_each(|channel| self.timelines.touch_channel(channel));
        }
        let mut touched: BTreeMap<TimelineKey, BTreeSet<EventId>> =
            self.windows.take_changed().into_iter().map(|c| (c.key, c.touched)).collect();
        for key in self.timelines.pending() {
            touched.entry(key).or_default();
        }
        if touched.is_empty() {
            return;
        }
        let facts = RowScene {
            viewer: self.account,
            unread: &self.unread,
            marks: Marks(&self.record, &self.visits),
            profiles: &self.profiles,
        };
        let mut authors = BTreeSet::new();
        for (key, rows) in &touched {
            let Some(view) = self.windows.view(key) else { continue };
            self.timelines.update(&view, rows, &facts);
            if let Some(state) = self.timelines.state(&view) {
                authors.extend(self.timelines.people(key));
                self.changes.push(Change::Timeline(*key, state));
            }
        }
        self.profiles.want(authors);
        self.profiles.flush(&mut self.out);
        self.route(Room::Profiles);
        self.send_now();
    }

    fn project_sidebar(&mut self, dirty: &Dirty) {
        let mut rows = std::mem::take(&mut self.stale_rows);
        if dirty.all || std::mem::take(&mut self.all_rows_stale) {
            rows.extend(self.directory.channels().map(|(c, _)| c));
        }
        rows.extend(dirty.channels.iter().chain(&dirty.activity));
        let mut changed = false;
        for channel in rows {
            changed |= match self.sidebar_row(channel) {
                Some(row) => self.sidebar.set(row),
                None => self.sidebar.remove(channel),
            };
        }
        let cached = self.directory.is_cached();
        changed |= std::mem::replace(&mut self.last_cached, cached) != cached;
        if changed {
            self.changes.push(Change::Sidebar(self.sidebar.state(cached)));
        }
    }

    fn sidebar_row(&self, channel: ChannelId) -> Option<SidebarRow> {
        let facts = self.directory.facts(channel)?;
        let unread = self.unread.snapshot(&Target::Channel(channel), &Marks(&self.record, &self.visits));
        let threads = self.unread.thread_activity(channel).items.map_or(0, |items| items.len());
        let others = facts.participants.iter().map(|p| self.profiles.display(p));
        let name = conversation_name(facts.channel_type, facts.name.as_deref(), others);
        Some(row(Conversation {
            channel,
            name,
            channel_type: facts.channel_type,
            participants: facts.participants.clone(),
            joined: facts.allowed,
            archived: facts.archived,
            class: self.classes.get(&channel).copied().unwrap_or_default(),
            muted: self.mutes.is_muted(channel),
            unread: &unread,
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            latest_at: self.unread.newest_at(channel, None),
        }))
    }

    fn project_status(&mut self) {
        let sync = self.sync.status(&self.record);
        if self.last_sync.as_ref() != Some(&sync) {
            self.last_sync = Some(sync.clone());
            self.changes.push(Change::Sync(sync));
        }
        let status = self.link.status();
        let scene = Scene {
            link: &status,
            now: self.now.mono,
            repair: self.unread.repair().progress(),
            cached: self.directory.is_cached(),
            holds_something: !self.unread.evidence().is_empty() || !self.openings.is_empty(),
            error: self.unread.evidence().error().or_else(|| self.directory.error()),
        };
        let line = words::connectivity(&scene);
        if self.last_connectivity.as_ref() != Some(&line) {
            self.last_connectivity = Some(line.clone());
            self.changes.push(Change::Connectivity(line));
        }
    }
}

/// What drawing a row asks.
struct RowScene<'a> {
    viewer: PublicKey,
    unread: &'a Unread,
    marks: Marks<'a>,
    profiles: &'a Profiles,
}

impl RowFacts for RowScene<'_> {
    fn viewer(&self) -> &PublicKey {
        &self.viewer
    }

    fn viewer_hex(&self) -> &str {
        self.unread.access().viewer_hex()
    }

    fn relay(&self) -> Option<&PublicKey> {
        self.unread.access().relay()
    }

    fn name(&self, person: &PublicKey) -> Option<String> {
        self.profiles.name(person).map(str::to_owned)
    }

    fn is_unread(&self, row: &Event) -> bool {
        self.unread.is_unread(&row.id)
    }

    fn thread_dot(&self, channel: ChannelId, root: &EventId) -> bool {
        if self.marks.is_marked(crate::unread::MarkKey::Thread(*root)) {
            return self.unread.access().is_allowed(channel);
        }
        self.unread.snapshot(&Target::Thread(channel, *root), &self.marks).observed.unwrap_or(0) > 0
    }
}
