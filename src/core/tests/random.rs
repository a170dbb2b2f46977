//! Random lives: agents, the user, the disk and the editor do anything in any order.

use proptest::prelude::*;

use super::steps::{Step, step};
use super::story::Story;
use super::world::World;

fn live(steps: &[Step], journal: bool) -> World {
    let mut life = Story::new(journal);
    for file in 0..2 {
        life.live(&Step::Read(file, None, None));
        life.live(&Step::Disk(file));
    }
    for step in steps {
        life.live(step);
    }
    life.rests()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_nothing_is_lost_and_every_request_is_answered(
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        drop(live(&steps, false));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_same_events_give_the_same_effects(
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let mut one = live(&steps, true);
        let mut two = live(&steps, true);
        prop_assert_eq!(one.journal.take(), two.journal.take());
    }
}
