//! The connection's events, and what each room is told of them.

use super::facts::{FoldScene, Marks};
use super::settle::unread_ctx;
use super::{Effect, Engine, Keep, Room};
use crate::directory::Trust;
use crate::event::{SharedEvent, kinds};
use crate::evidence::Dialect;
use crate::ids::{ChannelId, PublicKey};
use crate::read_state::Descriptor;
use crate::relay::connection::{LinkEvent, Source};
use crate::relay::protocol::{self, RelayInfo};
use crate::unread;
use crate::window::RelayFacts;

impl Engine {
    pub(super) fn carry_link_events(&mut self) -> bool {
        let out = std::mem::take(&mut self.link_out);
        let moved = !out.effects.is_empty() || !out.events.is_empty();
        self.effects.extend(out.effects.into_iter().map(Effect::Link));
        // The queue must know of the connection before anybody who is told of it asks for something.
        self.carry_gate();
        for event in out.events {
            self.link_event(event);
        }
        moved
    }

    fn link_event(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Online { info } => self.went_online(&info),
            LinkEvent::Offline { .. } | LinkEvent::Refused { .. } => self.went_offline(),
            LinkEvent::Live { source, event } => self.live(source, &event),
            // Parked pages look at the arming themselves.
            LinkEvent::Armed { .. } => {}
            LinkEvent::Missed { channels } => self.missed(&channels),
            LinkEvent::MissedGlobal { source } => self.missed_global(source),
            LinkEvent::AccessQuestioned { channels } => {
                for channel in channels {
                    self.directory.check(channel, &mut self.out);
                    self.route(Room::Directory);
                }
            }
        }
    }

    fn went_online(&mut self, info: &RelayInfo) {
        self.online = true;
        self.learn_relay(info);
        self.directory.on_connected(&mut self.out);
        self.route(Room::Directory);
        self.mutes.on_connected(&mut self.out);
        self.route(Room::Mutes);
        self.profiles.on_connected(&mut self.out);
        self.route(Room::Profiles);
        let offer = info.snapshot.as_ref().and_then(|s| Descriptor::offered(s.version, s.community_id.as_deref()));
        self.with_sync(|sync, io| sync.connected(offer, io));
        self.unread.connected(&mut self.out);
        self.route(Room::Unread);
        let facts = RelayFacts {
            self_key: info.self_key,
            secure_or_loopback: self.link.address().is_trusted(),
            thread_replies_in_channel: info.thread_replies_in_channel,
        };
        self.windows.on_connected(facts, &mut self.out);
        self.route(Room::Windows);
        self.subscribe();
    }

    /// Whom to believe, and how the relay wants to be asked.
    fn learn_relay(&mut self, info: &RelayInfo) {
        let trust = match info.self_key {
            Some(key) => Trust::Key(key),
            None if self.link.address().is_trusted() => Trust::Transport,
            None => Trust::None,
        };
        let change = self.directory.set_trust(trust);
        self.access_changed(&change);
        let marks = Marks(&self.record, &self.visits);
        let ctx = unread_ctx!(self, marks);
        self.unread.set_relay(info.self_key, &ctx);
        self.unread.set_dialect(match info.dialect() {
            protocol::Dialect::Current => Dialect::Current,
            protocol::Dialect::August => Dialect::August,
        });
        self.effects.push(Effect::Keep(Keep::Relay(info.self_key)));
    }

    /// The connection is gone, for whatever reason.
    pub(super) fn went_offline(&mut self) {
        if !std::mem::take(&mut self.online) {
            return;
        }
        self.directory.on_disconnected(&mut self.out);
        self.route(Room::Directory);
        self.mutes.on_disconnected(&mut self.out);
        self.route(Room::Mutes);
        self.profiles.on_disconnected(&mut self.out);
        self.route(Room::Profiles);
        self.with_sync(|sync, io| sync.disconnected(io));
        self.unread.disconnected(&mut self.out);
        self.route(Room::Unread);
        self.homes.reset(&mut self.out);
        self.route(Room::Homes);
        self.windows.on_disconnected(&mut self.out);
        self.route(Room::Windows);
        self.fail_parked();
    }

    /// Pages that waited for a live stream have nothing to wait for any more.
    fn fail_parked(&mut self) {
        for (id, request, _) in std::mem::take(&mut self.parked) {
            // The queue knows what to say: it is offline.
            let _ = self.admission.set_gate(self.link.gate());
            self.out.sent.push((id, request));
        }
        self.route(Room::Windows);
    }

    /// Tells the connection which channels are to be live: those of the roster and those on screen, the latter first.
    pub(super) fn subscribe(&mut self) {
        let open: Vec<ChannelId> = {
            let mut open: Vec<_> = self.openings.keys().map(|key| key.channel).collect();
            open.dedup();
            open.retain(|channel| self.directory.is_readable(*channel));
            open
        };
        let channels: Vec<ChannelId> = self.directory.allowed().chain(open.iter().copied()).collect();
        self.link.set_channels(self.now, channels, &open, &mut self.link_out);
    }

    fn live(&mut self, source: Source, event: &SharedEvent) {
        match event.kind {
            kinds::CHANNEL | kinds::ADMINS | kinds::MEMBERS | kinds::MEMBER_ADDED | kinds::MEMBER_REMOVED => {
                let change = self.directory.on_event(event, &mut self.out);
                self.route(Room::Directory);
                self.access_changed(&change);
            }
            kinds::APP_DATA => {
                let effects = self.mutes.on_event(event);
                self.mute_effects(effects);
                self.with_sync(|sync, io| sync.live(event, io));
            }
            kinds::PROFILE if self.profiles.take(event) => self.names_changed(&[event.pubkey].into()),
            _ if matches!(source, Source::Channels(_)) => {
                // Evidence first: whether a row is unread is asked when it is drawn.
                let marks = Marks(&self.record, &self.visits);
                let ctx = unread_ctx!(self, marks);
                self.unread.intake(std::slice::from_ref(event), &ctx);
                let scene = FoldScene { relay: self.relay_key(), directory: &self.directory, unread: &self.unread };
                self.windows.on_live(event, &scene);
            }
            _ => {}
        }
    }

    /// Events of these channels may have been missed: the open timelines among them and the evidence are read again.
    fn missed(&mut self, channels: &[ChannelId]) {
        for channel in channels {
            self.windows.on_missed(*channel, &mut self.out);
            self.route(Room::Windows);
        }
        self.unread.missed(&mut self.out);
        self.route(Room::Unread);
    }

    fn missed_global(&mut self, source: Source) {
        match source {
            Source::Membership => {
                self.directory.refresh(&mut self.out);
                self.route(Room::Directory);
            }
            Source::OwnData => {
                self.mutes.on_connected(&mut self.out);
                self.route(Room::Mutes);
                self.with_sync(|sync, io| sync.refresh_in_background(io));
            }
            Source::Channels(_) => {}
        }
    }

    /// The trusted relay key, if one is advertised.
    pub(super) fn relay_key(&self) -> Option<PublicKey> {
        self.unread.access().relay().copied()
    }
}
