//! Waggle core.
