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

#[test]
fn zz_debug() {
    use Step::*;
    let steps = [
        Buffer(0, "open"),
        User("prompt"),
        Write(0, vec![]),
        Foreign(0, 0),
        Check,
        Foreign(0, 0),
    ];
    let mut life = Story::new(true);
    for file in 0..2 {
        life.live(&Step::Read(file, None, None));
        life.live(&Step::Disk(file));
    }
    for step in &steps {
        life.live(step);
        let j = life.w.journal.take().unwrap();
        println!("== {step:?}");
        for l in j {
            println!("{}", l.chars().take(600).collect::<String>());
        }
        life.w.journal = Some(vec![]);
    }
    life.w.journal = None;
    life.w.journal = Some(vec![]);
    let j = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| life.rests()));
    if let Err(e) = j {
        std::panic::resume_unwind(e)
    }
}
