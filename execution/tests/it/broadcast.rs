//! What is said is heard by all who listen.

use execution::broadcast::{Broadcast, Heard, Memory};
use tokio::{sync::mpsc::Receiver, time::timeout};

use crate::rig::{PATIENCE, Rig, over_both_stores};

over_both_stores![
    everybody_on_the_channel_hears_it_in_order,
    nobody_hears_another_channel,
    saying_something_to_nobody_is_no_error,
    a_listener_that_left_is_missed_by_nobody,
];

pub(crate) async fn hears(listener: &mut Receiver<Heard>) -> Heard {
    timeout(PATIENCE, listener.recv()).await.expect("something is heard").expect("the channel is open")
}

async fn listener(broadcast: &dyn Broadcast, channel: &str) -> Receiver<Heard> {
    let mut listener = broadcast.subscribe(channel);
    assert_eq!(hears(&mut listener).await, Heard::Connected);
    listener
}

fn message(text: &str) -> Heard {
    Heard::Message(text.to_owned())
}

async fn say(broadcast: &dyn Broadcast, channel: &str, text: &str) {
    broadcast.publish(channel, text).await.expect("the broadcast is there");
}

async fn everybody_on_the_channel_hears_it_in_order(rig: Rig) {
    let mut one = listener(&*rig.broadcast, "modes").await;
    let mut two = listener(&*rig.broadcast, "modes").await;
    say(&*rig.broadcast, "modes", "chat 1 is HUMAN").await;
    say(&*rig.broadcast, "modes", "chat 1 is AI\n🙂").await;
    for listener in [&mut one, &mut two] {
        assert_eq!(hears(listener).await, message("chat 1 is HUMAN"));
        assert_eq!(hears(listener).await, message("chat 1 is AI\n🙂"));
    }
}

async fn nobody_hears_another_channel(rig: Rig) {
    let mut modes = listener(&*rig.broadcast, "modes").await;
    let mut typing = listener(&*rig.broadcast, "typing").await;
    say(&*rig.broadcast, "modes", "one").await;
    say(&*rig.broadcast, "typing", "two").await;
    assert_eq!(hears(&mut typing).await, message("two"));
    assert_eq!(hears(&mut modes).await, message("one"));
}

async fn saying_something_to_nobody_is_no_error(rig: Rig) {
    say(&*rig.broadcast, "modes", "hello?").await;
}

async fn a_listener_that_left_is_missed_by_nobody(rig: Rig) {
    drop(listener(&*rig.broadcast, "modes").await);
    say(&*rig.broadcast, "modes", "one").await;
    let mut listener = listener(&*rig.broadcast, "modes").await;
    say(&*rig.broadcast, "modes", "two").await;
    assert_eq!(hears(&mut listener).await, message("two"));
}

#[tokio::test]
async fn a_listener_too_slow_is_told_that_it_missed_something() {
    let broadcast = Memory::new();
    let mut slow = listener(&broadcast, "modes").await;
    let said = 5000;
    for number in 0..said {
        say(&broadcast, "modes", &number.to_string()).await;
    }
    let mut heard = Vec::new();
    while let Ok(next) = slow.try_recv() {
        heard.push(next);
    }
    assert!(heard.len() < said);
    assert_eq!(heard.pop(), Some(Heard::Connected), "what came after must be looked up");
    for (number, next) in heard.into_iter().enumerate() {
        assert_eq!(next, message(&number.to_string()), "nothing is missed without being told");
    }
    say(&broadcast, "modes", "afresh").await;
    assert_eq!(hears(&mut slow).await, message("afresh"));
}
