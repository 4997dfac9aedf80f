//! A lived-in community for demos.
