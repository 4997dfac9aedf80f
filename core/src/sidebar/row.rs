//! The decision table of `unread.md` 12.1.

use crate::ids::{ChannelId, PublicKey};
use crate::model::{ChannelType, Manual, PresentationClass, SidebarRow, SidebarSection, UnreadSnapshot};

use super::names;

/// The facts of one conversation, from the rooms that know them.
#[derive(Clone)]
pub struct Conversation<'a> {
    /// The channel.
    pub channel: ChannelId,
    /// Its name, or for a DM the names of the others.
    pub name: String,
    /// Its type.
    pub channel_type: ChannelType,
    /// Participants of a DM without the viewer, sorted.
    pub participants: Vec<PublicKey>,
    /// The viewer is a member.
    pub joined: bool,
    /// Archived.
    pub archived: bool,
    /// How the app presents it (R27a).
    pub class: PresentationClass,
    /// Muted by the *confirmed* preference; a pending or failed change is not one.
    pub muted: bool,
    /// What is unread in the channel.
    pub unread: &'a UnreadSnapshot,
    /// Threads with unread replies.
    pub threads: u32,
    /// Time of the newest message held, seconds.
    pub latest_at: Option<u64>,
}

crate::ids::hidden_debug!(Conversation<'_>);

/// Which line of the table applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Channel,
    Dm,
    Promoted,
    Solo,
}

impl Conversation<'_> {
    fn kind(&self) -> Kind {
        match (self.class, self.channel_type) {
            (PresentationClass::Solo, _) => Kind::Solo,
            (PresentationClass::Promoted, _) => Kind::Promoted,
            (PresentationClass::Normal, ChannelType::Dm) => Kind::Dm,
            (PresentationClass::Normal, _) => Kind::Channel,
        }
    }

    fn section(&self) -> SidebarSection {
        match self.kind() {
            _ if self.archived => SidebarSection::Archived,
            _ if !self.joined => SidebarSection::Open,
            Kind::Channel => SidebarSection::Channels,
            Kind::Dm => SidebarSection::DirectMessages,
            Kind::Promoted => SidebarSection::Promoted,
            Kind::Solo => SidebarSection::Solo,
        }
    }
}

/// How a row looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    strong: bool,
    dot: bool,
    bell: bool,
    counted: bool,
}

/// One line of the table. `u` is observed, `a` attention, `t` threads, `m` marked by hand.
fn look(kind: Kind, muted: bool, u: u32, a: u32, t: u32, m: bool) -> Look {
    let any = u > 0 || m || t > 0;
    match (kind, muted) {
        (Kind::Channel, false) => Look { strong: u > a || m, dot: a > 0 || t > 0, bell: false, counted: any },
        // A manual mark fabricates no priority (R18): the dot goes by what is unread.
        (Kind::Dm | Kind::Promoted, false) => Look { strong: u > 0 || m, dot: u > 0, bell: false, counted: u > 0 || m },
        (Kind::Channel | Kind::Dm, true) => Look { strong: m, bell: true, ..Look::default() },
        (Kind::Promoted, true) => Look { strong: m, ..Look::default() },
        (Kind::Solo, muted) => Look { strong: u > 0 || m, dot: false, bell: false, counted: !muted && any },
    }
}

/// Projects one conversation.
pub fn row(of: Conversation<'_>) -> SidebarRow {
    let section = of.section();
    let (observed, attention, manual, threads) = if of.joined {
        (of.unread.observed, of.unread.attention, of.unread.manual, of.threads)
    } else {
        (None, None, Manual::None, 0)
    };
    let muted = of.muted && of.joined;
    let (u, a) = (observed.unwrap_or(0), attention.unwrap_or(0));
    let look = look(of.kind(), muted, u, a, threads, manual != Manual::None);
    // What a muted row withholds from the eye it does not say either, but for its threads (seed).
    let withheld = muted && of.kind() != Kind::Solo;
    let said = names::Said {
        unread: if withheld { 0 } else { u },
        attention: if withheld { 0 } else { a },
        threads,
        manual,
        muted,
        freshness: of.unread.freshness,
    };
    SidebarRow {
        channel: of.channel,
        accessible_name: names::row(&of.name, &said),
        name: of.name,
        section,
        channel_type: of.channel_type,
        participants: of.participants,
        strong: look.strong,
        dot: look.dot,
        bell: look.bell,
        counted: look.counted,
        threads,
        observed,
        attention,
        manual,
        joined: of.joined,
        archived: of.archived,
        muted,
        latest_at: of.latest_at,
    }
}
