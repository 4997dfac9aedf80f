//! Asks the relay for the channels of messages that kept marks name (`unread.md` 8.6).
