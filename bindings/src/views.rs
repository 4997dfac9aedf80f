//! Views of single values: versioned, pulled, cancellable.

use std::sync::Arc;

use waggle::session::{Versioned, View};

use crate::errors::ViewError;
use crate::records::{Connectivity, SyncStatus, ThreadActivity, UnreadSnapshot};
use crate::runtime::guarded;

macro_rules! view {
    ($($(#[$doc:meta])* $view:ident, $update:ident, $value:ident;)+) => {$(
        /// One version of what its view shows.
        #[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
        pub struct $update {
            /// Grows with every change; ask for the next one with it.
            pub version: u64,
            /// The value.
            pub value: $value,
        }

        impl From<Versioned<waggle::model::$value>> for $update {
            fn from(now: Versioned<waggle::model::$value>) -> Self {
                let Versioned { version, value } = now;
                Self { version, value: $value::from(&*value) }
            }
        }

        $(#[$doc])*
        #[derive(Debug, uniffi::Object)]
        pub struct $view(View<waggle::model::$value>);

        impl $view {
            pub(crate) fn of(view: View<waggle::model::$value>) -> Arc<Self> {
                Arc::new(Self(view))
            }
        }

        #[uniffi::export]
        impl $view {
            /// The newest value, at once.
            pub fn current(&self) -> $update {
                self.0.current().into()
            }

            /// Waits for a version newer than `after`; 0 takes the newest one there is. Ends with `Closed` after `cancel` or when the
            /// session closed and its last value was seen. A cancelled wait loses nothing.
            pub async fn next(&self, after: u64) -> Result<$update, ViewError> {
                Ok(guarded(self.0.next(after)).await?.into())
            }

            /// Ends this view's waits, now and later. Idempotent.
            pub fn cancel(&self) {
                self.0.cancel();
            }
        }
    )+};
}

view! {
    /// What is unread about a target.
    UnreadView, UnreadUpdate, UnreadSnapshot;
    /// A channel's threads with unread replies.
    ThreadActivityView, ThreadActivityUpdate, ThreadActivity;
    /// Read-state synchronisation.
    SyncView, SyncUpdate, SyncStatus;
    /// What the session is doing, in words a person can be shown.
    ConnectivityView, ConnectivityUpdate, Connectivity;
}
