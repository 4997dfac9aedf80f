//! The rules for one message (`unread.md` 4.1, 4.2, 5.1, 5.4), as a function of its facts and its place.

/// Facts of a message that marks do not change, except the manual mark on itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Facts {
    /// Not deleted.
    pub(super) is_live: bool,
    /// The viewer signed it.
    pub(super) is_own: bool,
    /// For agents only (R10).
    pub(super) is_quiet: bool,
    pub(super) is_reply: bool,
    pub(super) is_mention: bool,
    pub(super) is_broadcast: bool,
    /// Marked unread by hand.
    pub(super) is_forced: bool,
    /// In the viewer's conversations; false for what is no reply.
    pub(super) in_conversation: bool,
    /// Explicit follow choice.
    pub(super) choice: Option<bool>,
    /// Its look-up is over.
    pub(super) is_settled: bool,
}

/// Where a message stands among marks. Seconds; −1 is "no value".
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) is_dm: bool,
    /// Its thread's root is resolved.
    pub(super) has_root: bool,
    pub(super) created_at: i64,
    pub(super) floor: i64,
    /// Greatest of message, channel and thread frontier.
    pub(super) generic: i64,
    pub(super) activity: i64,
    pub(super) thread_activity: i64,
    /// A remote override of the message, its channel or its thread is active.
    pub(super) overridden: bool,
}

/// What a message adds to its scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State {
    pub(super) unread: bool,
    /// Wants attention, read or not.
    pub(super) priority: bool,
    /// Unread, and thread activity lists it.
    pub(super) listed: bool,
    /// Waits for its look-up.
    pub(super) waiting: bool,
}

impl State {
    /// What its own snapshot shows.
    pub(super) fn shown(self) -> (bool, bool, bool) {
        (self.unread, self.unread && self.priority, self.waiting)
    }
}

impl Facts {
    /// Category or broadcast (`unread.md` 4.1).
    pub(super) fn has_priority(&self, is_dm: bool) -> bool {
        !self.is_quiet && (is_dm || self.is_mention || self.is_broadcast || self.in_conversation)
    }

    /// Whether it can count at all (`unread.md` 4.1).
    pub(super) fn is_relevant(&self, is_dm: bool) -> bool {
        !self.is_quiet && (!self.is_reply || self.has_priority(is_dm))
    }
}

/// Evaluates one message top to bottom; also whether it wants a look-up, of its conversation or of its root.
pub(super) fn evaluate(facts: &Facts, place: &Place) -> (State, bool) {
    if !facts.is_live {
        return (State::default(), false);
    }
    let priority = facts.has_priority(place.is_dm);
    let relevant = facts.is_relevant(place.is_dm);
    let is_other = !facts.is_own && !facts.is_quiet;
    let is_ordinary = !facts.is_reply && !priority;
    let read_through = place
        .generic
        .max(if is_ordinary { place.activity } else { -1 })
        .max(if facts.is_reply && place.has_root { place.thread_activity } else { -1 });
    let passes = place.created_at > place.floor && (place.overridden || place.created_at > read_through);
    let unread = is_other && (facts.is_forced || (relevant && passes));
    let undecided = facts.is_reply && !relevant && facts.choice.is_none() && !facts.is_settled;
    let waiting = is_other && passes && undecided;
    // A followed thread decides membership; only its root is missing.
    let lacks_root =
        is_other && passes && facts.is_reply && facts.choice == Some(true) && !place.has_root && !place.is_dm;
    let listed = unread && facts.is_reply && place.has_root && priority && !place.is_dm;
    (State { unread, priority, listed, waiting }, waiting || lacks_root)
}
