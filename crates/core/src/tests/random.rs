//! Random steps of agents, the user, the disk and the editor, in any order.

use proptest::prelude::*;

use super::steps::{Can, Step, can, step, step_of_one_file, step_of_turns};
use super::story::Story;
use super::world::World;

/// Returns the number of cases: `usual`, unless `PROPTEST_CASES` sets another.
pub(super) fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = match config.cases {
        PROPTESTS_OWN => usual,
        asked => asked,
    };
    ProptestConfig { cases, ..config }
}

/// Proptest's default number of cases, which means that none was set.
const PROPTESTS_OWN: u32 = 256;

/// Lives these steps with two files that were read before, and checks the laws.
pub(super) fn live(can: Can, steps: &[Step], journal: bool) -> World {
    let mut life = Story::new(can, journal);
    for file in 0..2 {
        life.live(&Step::Read(file, None, None));
        life.live(&Step::Disk(file));
    }
    for step in steps {
        life.live(step);
    }
    life.rests()
}

/// Lives these steps with one file that has two names and was read before, and checks the laws.
pub(super) fn live_linked(steps: &[Step]) -> World {
    let mut life = Story::new(Can::Forget, false);
    life.links();
    life.live(&Step::Read(0, None, None));
    life.live(&Step::Disk(0));
    life.live(&Step::Disk(1));
    for step in steps {
        life.live(step);
    }
    life.rests()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn random_steps_lose_nothing_and_answer_every_request(
        can in can(),
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        drop(live(can, &steps, false));
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn the_same_events_give_the_same_effects(
        can in can(),
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let mut one = live(can, &steps, true);
        let mut two = live(can, &steps, true);
        prop_assert_eq!(one.journal.take(), two.journal.take());
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn random_steps_on_one_file_by_two_names_lose_nothing(
        steps in proptest::collection::vec(step_of_one_file(), 1..60),
    ) {
        drop(live_linked(&steps));
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn what_the_user_typed_into_hunks_outlives_the_agents_next_turns(
        steps in proptest::collection::vec(step_of_turns(), 1..40),
    ) {
        let mut life = Story::new(Can::Forget, false);
        (0..4).for_each(|_| life.live(&Step::Agents));
        life.live(&Step::Disk(0));
        life.live(&Step::Buffer(0, "open"));
        life.live(&Step::User("prompt"));
        (0..2).for_each(|_| life.live(&Step::Check));
        (0..2).for_each(|_| life.live(&Step::Tell));
        for step in &steps {
            life.live(step);
            if let Step::Read(..) | Step::Write(..) | Step::Shell(..) = step {
                (0..3).for_each(|_| life.live(&Step::Disk(0)));
                (0..2).for_each(|_| life.live(&Step::Editor(3)));
            }
        }
        drop(life.rests());
    }
}
