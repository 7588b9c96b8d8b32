use super::{DeliveryState as S, *};

#[test]
fn a_report_moves_a_message_forward_and_never_back() {
    let reports = [S::Sent, S::Delivered, S::Read, S::Failed];
    let (sent, delivered, read, failed) = (Some(S::Sent), Some(S::Delivered), Some(S::Read), Some(S::Failed));
    #[rustfmt::skip]
    let table = [
        // state         sent   delivered   read   failed
        (S::Queued,     [sent,  delivered,  read,  None]),
        (S::Sending,    [sent,  delivered,  read,  None]),
        (S::Sent,       [None,  delivered,  read,  failed]),
        (S::Delivered,  [None,  None,       read,  None]),
        (S::Read,       [None,  None,       None,  None]),
        (S::Failed,     [sent,  delivered,  read,  None]),
        (S::Unknown,    [sent,  delivered,  read,  None]),
        (S::Cancelled,  [sent,  delivered,  read,  None]),
        (S::Dead,       [sent,  delivered,  read,  None]),
    ];
    assert_eq!(table.len(), S::ALL.len());
    for (state, follows) in table {
        for (report, follows) in reports.into_iter().zip(follows) {
            assert_eq!(state.reported(report), follows, "{state}, reported as {report}");
        }
        for ours in [S::Queued, S::Sending, S::Unknown, S::Cancelled, S::Dead] {
            assert_eq!(state.reported(ours), None, "no provider reports {ours}");
        }
    }
}

#[test]
fn what_may_still_change_by_our_doing_is_open() {
    let open: Vec<_> = S::ALL.iter().copied().filter(|state| state.is_open()).collect();
    assert_eq!(open, [S::Queued, S::Sending, S::Unknown]);
}

fn of_the_contact(outcome: Outcome, starts_turn: bool, turn: Option<Uuid>) -> Message {
    Message {
        id: Uuid::from_u128(1),
        seq: 1,
        turn,
        inbound: Some(Inbound { outcome, reason: None, starts_turn }),
        ..Message::of(Author::Contact, Origin::Webhook, Kind::Text, "Hello".to_owned())
    }
}

#[test]
fn a_message_of_the_contact_waits_until_a_turn_covers_it_and_is_open_until_it_has_its_outcome() {
    let turn = Some(Uuid::from_u128(2));
    #[rustfmt::skip]
    let table = [
        // outcome               starts  turn   waits   covered  open
        (Outcome::Pending,       true,   None,  true,   false,   true),
        (Outcome::Pending,       true,   turn,  false,  true,    true),
        (Outcome::Pending,       false,  None,  false,  false,   true),
        (Outcome::Answered,      true,   turn,  false,  false,   false),
        (Outcome::Answered,      true,   None,  false,  false,   false),
        (Outcome::LeftToHuman,   true,   None,  false,  false,   false),
        (Outcome::Ignored,       false,  None,  false,  false,   false),
        (Outcome::HandedOver,    true,   None,  false,  false,   false),
        (Outcome::Dead,          true,   turn,  false,  false,   false),
    ];
    for (outcome, starts_turn, turn, waits, is_covered, is_open) in table {
        let message = of_the_contact(outcome, starts_turn, turn);
        let found = (message.waits(), message.is_covered(), message.is_open());
        assert_eq!(found, (waits, is_covered, is_open), "{outcome}, {starts_turn}, {turn:?}");
        assert!(!message.is_machine_made() && !message.is(S::Queued));
    }
}
