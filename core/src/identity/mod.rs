//! Who the account is: its key, what may be signed with it, and where it is kept.
//!
//! Invariants: a [`Secret`] never appears in text (no `Debug`, no `Display`) and is wiped when dropped. A [`Signer`] is narrow
//! by construction: [`Unsigned`] can say four things and nothing else, so no caller and no bug can have a message signed
//! (`unread.md` 13.9). A [`SecretStore`] blocks; its callers are on a thread that may.

mod cipher;
mod platform;
mod secret;
mod signer;
mod store;

pub use cipher::{LocalCipher, SelfCipher};
pub use platform::{KeyringSecrets, platform_secrets};
pub use secret::Secret;
pub use signer::{LocalSigner, ReadOnlySigner, SignedJson, Signer, Unsigned};
pub use store::{FileSecrets, MemorySecrets, SecretStore};
