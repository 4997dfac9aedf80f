//! The relay's language, pure: what is written to it and what its bytes mean.
//!
//! Nothing here waits, remembers or decides. Answers are decoded by whoever has the time, not by the actor.

mod address;
mod answer;
mod auth;
mod frame;
mod info;
mod refusal;

pub use address::RelayAddress;
pub use answer::{Exchange, decode, exchange, outcome};
pub use auth::{authorization, http_auth, socket_auth};
pub use frame::{ClientMessage, RelayMessage, receive};
pub use info::{Dialect, RelayInfo, SnapshotDescriptor};
pub use refusal::{SignIn, classify, is_stale_signature, refuse, retry_after, sign_in_refusal, skew_of};
