//! Changes of access, names and preferences, and who must hear of them. Loss goes first: every room has forgotten a channel before
//! anything is projected (`unread.md` 3.7).

use std::collections::BTreeSet;

use super::facts::Marks;
use super::settle::unread_ctx;
use super::{Effect, Engine, Keep, Kept, Room};
use crate::directory::AccessChange;
use crate::directory::mutes::MuteEffects;
use crate::evidence::ChannelAccess;
use crate::ids::{ChannelId, PublicKey};
use crate::unread;

impl Engine {
    /// Takes in what the cache had when the session opened.
    pub(super) fn take_kept(&mut self, kept: Kept) {
        for profile in &kept.profiles {
            self.profiles.take(profile);
        }
        if let Some(mutes) = kept.mutes {
            let changed = self.mutes.restore(&mutes);
            self.stale_rows.extend(changed);
        }
        let change = self.directory.restore(kept.channels);
        self.access_changed(&change);
        self.follows_changed();
    }

    pub(super) fn access_changed(&mut self, change: &AccessChange) {
        if change.is_empty() {
            return;
        }
        self.stale_rows.extend(&change.touched);
        for channel in &change.revoked {
            self.surfaces.on_access_lost(*channel);
            self.saves.access_lost(*channel);
            self.end_visit(*channel);
        }
        for channel in &change.hidden {
            self.classes.remove(channel);
            self.effects.push(Effect::Keep(Keep::Forget(*channel)));
            self.windows.on_access_lost(*channel, &mut self.out);
            self.route(Room::Windows);
        }
        if change.allowed_changed() {
            self.homes.reset(&mut self.out);
            self.route(Room::Homes);
        }
        self.tell_unread();
        for channel in &change.touched {
            if self.directory.is_readable(*channel) {
                self.windows.on_access_granted(*channel, &mut self.out);
                self.route(Room::Windows);
            }
        }
        let people: BTreeSet<PublicKey> = change
            .touched
            .iter()
            .filter_map(|c| self.directory.facts(*c))
            .flat_map(|f| f.participants.clone())
            .collect();
        self.profiles.want(people);
        self.profiles.flush(&mut self.out);
        self.route(Room::Profiles);
        self.subscribe();
    }

    /// Gives the unread room the channels as they stand now.
    fn tell_unread(&mut self) {
        let channels: Vec<(ChannelId, ChannelAccess)> = self
            .directory
            .channels()
            .map(|(id, facts)| {
                let access = ChannelAccess {
                    allowed: facts.allowed,
                    confirmed: facts.confirmed,
                    channel_type: facts.channel_type,
                    admins: self.directory.leaders(id).into(),
                };
                (id, access)
            })
            .collect();
        let marks = Marks(&self.record, &self.visits);
        let ctx = unread_ctx!(self, marks);
        self.unread.set_channels(channels, &ctx, &mut self.out);
        self.route(Room::Unread);
    }

    pub(super) fn mute_effects(&mut self, effects: MuteEffects) {
        self.effects.extend(effects.jobs.into_iter().map(Effect::MuteJob));
        self.stale_rows.extend(effects.changed);
        for (call, result) in effects.done {
            let call = super::CallId(call.0);
            if self.waiting.mutes.remove(&call) {
                self.done(call, result);
            }
        }
    }

    /// Somebody's name became known or changed.
    pub(super) fn names_changed(&mut self, people: &BTreeSet<PublicKey>) {
        if people.is_empty() {
            return;
        }
        for person in people {
            self.timelines.touch_author(person);
        }
        let named = |facts: &crate::directory::ChannelFacts| facts.participants.iter().any(|p| people.contains(p));
        let rows: Vec<ChannelId> = self.directory.channels().filter(|(_, f)| named(f)).map(|(c, _)| c).collect();
        self.stale_rows.extend(rows);
    }
}
