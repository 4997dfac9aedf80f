//! (wip)
