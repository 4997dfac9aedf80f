//! The test relay alone.
fn main() {}
