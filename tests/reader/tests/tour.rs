//! The guided tour, as a test: every step of it verifies what it claims.

use waggle_reader::tour;
use waggle_test_relay::Dialect;

async fn take(dialect: Dialect) {
    let mut said = Vec::new();
    let outcome = tour::run(&mut said, dialect).await;
    let said = String::from_utf8_lossy(&said);
    if let Err(error) = outcome {
        panic!("{error:#}\n{said}");
    }
    assert!(said.contains("steps held"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tour_holds() {
    take(Dialect::Current).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tour_holds_on_an_august_relay() {
    take(Dialect::August).await;
}
