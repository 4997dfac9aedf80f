//! A relay that does not answer holds nothing up: closing and suspending end within their budgets, in virtual time. And an extension, which listens to
//! nothing, counts and shows all the same.

use waggle::ids::Target;
use waggle::limits;
use waggle::session::Mode;

use crate::world::{World, channel, run};

/// How long a call took, in virtual milliseconds.
async fn took<T>(world: &mut World, call: impl Future<Output = T>) -> (T, u64) {
    let start = world.time.now_ms();
    let result = world.step_by_step(call).await;
    (result, world.time.now_ms() - start)
}

#[test]
fn closing_takes_half_a_second_at_most_whatever_the_relay_does() {
    run(async {
        let mut world = World::new().await;
        world.read_more("m40").await.unwrap();
        world.tamper.fall_silent();
        let session = world.session.clone();
        let (_, ms) = took(&mut world, session.close()).await;
        assert!(ms <= limits::CLOSE_BUDGET_MS, "{ms} ms");
        // What was not published is saved, and a new process opens the same files at once.
        assert!(world.record().is_unpublished());
        world.reopen();
        world.session.start().await.unwrap();
    });
}

#[test]
fn suspending_keeps_to_its_budget() {
    for budget in [0, 250, 2_000] {
        run(async {
            let mut world = World::new().await;
            world.read_more("m40").await.unwrap();
            world.tamper.fall_silent();
            let session = world.session.clone();
            let (result, ms) = took(&mut world, session.suspend(budget)).await;
            assert!(ms <= budget + 10, "{ms} ms for a budget of {budget}: {result:?}");
            world.settle().await;
            assert_eq!(world.relay.admin().open_sockets(), 0, "the socket is closed");
        });
    }
}

#[test]
fn an_extension_listens_to_nothing_and_counts_all_the_same() {
    run(async {
        let mut world = World::in_mode(Mode::Extension, None).await;
        let session = world.session.clone();
        session.start().await.unwrap();
        world.settle().await;
        world.look_around().await;
        let seen = world.finish(session.snapshot(Target::Channel(channel("general")))).await.unwrap();
        assert_eq!(seen.observed, Some(27), "24 messages, two replies and a call after m20");
        assert_eq!(world.timeline.as_ref().unwrap().state().rows.len(), 20, "a page is shown");
        assert_eq!(world.relay.counters().subscriptions, 0, "nothing is listened to");
        assert_eq!(world.facts().await.published, 1, "what was read is published");
        // Nothing comes by itself; a look brings it.
        let before = world.facts().await;
        assert!(!world.hears_ada(2_000).await);
        world.finish(session.refresh()).await.unwrap();
        assert!(world.facts().await == before && world.hears_ada(0).await);
    });
}
