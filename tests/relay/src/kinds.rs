//! Which kinds exist, and how the relay treats each.
//!
//! A kind that no list names is refused (`restricted: unknown event kind`). Kinds are grouped by where they are stored:
//! in a channel named by their `h` tag, in their target's channel, or in no channel.

/// Kinds only the relay may write and that answer `restricted: relay-only kind`.
pub(crate) const RELAY_ONLY: [u32; 6] = [13534, 30622, 39005, 39006, 40901, 40902];
/// Kinds a reader may only ask for with their own `#p`.
pub(crate) const P_GATED: [u32; 6] = [1059, 24200, 44100, 44101, 30622, 44200];
/// Kinds a reader may only ask for with `authors` = themselves.
pub(crate) const AUTHOR_ONLY: [u32; 2] = [30300, 30350];
/// Aux kinds of a window's first hop.
pub(crate) const AUX_FIRST: [u32; 4] = [5, 7, 9005, 40003];
/// Aux kinds of a window's second hop.
pub(crate) const AUX_SECOND: [u32; 2] = [5, 9005];
/// Kinds full-text search covers.
pub(crate) const SEARCHED: [u32; 5] = [0, 9, 40002, 45001, 45003];

/// Content of a channel, named by the event's own `h` tag.
pub(crate) fn is_channel_content(kind: u32) -> bool {
    matches!(kind, 9 | 40001 | 40002 | 40004..=40008 | 40100 | 43001..=43006 | 45001..=45003 | 46010 | 48100..=48103)
}

/// Kinds that live in no channel.
pub(crate) fn is_global(kind: u32) -> bool {
    matches!(
        kind,
        0 | 1
            | 3
            | 1059
            | 1984
            | 10000
            | 10002
            | 10050
            | 10063
            | 10100
            | 24200
            | 30023
            | 30030
            | 30078
            | 30300
            | 30315
            | 30350
            | 44200
    )
}

/// Commands about channels.
pub(crate) fn is_channel_command(kind: u32) -> bool {
    matches!(kind, 9000 | 9001 | 9002 | 9007 | 9008 | 9021 | 9022)
}

/// Group state that lives in the channel its `d` tag names.
pub(crate) fn is_group_state(kind: u32) -> bool {
    matches!(kind, 39000..=39003)
}

/// Replaced by a newer event of the same author and kind.
pub(crate) fn is_replaceable(kind: u32) -> bool {
    matches!(kind, 0 | 3 | 10000..=19999)
}

/// Replaced by a newer event of the same author, kind and `d`.
pub(crate) fn is_addressable(kind: u32) -> bool {
    matches!(kind, 30000..=39999)
}

/// A slot of read state: kind 30078, `d` = `read-state:…`.
pub(crate) fn is_read_state(kind: u32, d: Option<&str>) -> bool {
    kind == 30078 && d.is_some_and(|d| d.starts_with("read-state:"))
}
