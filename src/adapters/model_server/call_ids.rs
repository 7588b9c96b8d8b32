//! Ids of calls: results are told apart by them, and a server refuses a request in which one comes twice. In: the calls of an
//! answer, and the lines before them. Out: the same calls, each under an id that no other has.

use std::collections::HashSet;

use crate::flow::generator::{Line, ToolCall};

/// Servers that give no ids, or begin again with every answer, get ours in place of those that are taken.
pub(super) fn set_apart(calls: &mut [ToolCall], before: &[Line]) {
    let mut taken: HashSet<String> = before.iter().flat_map(called).map(|call| call.id.clone()).collect();
    for call in calls {
        let mut number = taken.len();
        while !taken.insert(call.id.clone()) {
            call.id = format!("call_{number}");
            number += 1;
        }
    }
}

fn called(line: &Line) -> &[ToolCall] {
    match line {
        Line::Calls(_, calls) => calls,
        Line::Contact(_)
        | Line::Assistant(_)
        | Line::Colleague(_)
        | Line::Instruction(_)
        | Line::Result { .. } => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(ids: &[&str]) -> Vec<ToolCall> {
        ids.iter().map(|id| ToolCall { id: (*id).to_owned(), ..ToolCall::default() }).collect()
    }

    #[test]
    fn no_id_comes_twice_in_all_rounds_of_a_turn() {
        let mut lines = vec![Line::Contact("Where is it?".into())];
        for (given, set) in [
            (&["call_0"][..], &["call_0"][..]),
            (&["call_0", "call_1"], &["call_1", "call_2"]),
            (&["call_4", "call_0", "call_0"], &["call_4", "call_5", "call_6"]),
            (&["theirs", "theirs"], &["theirs", "call_7"]),
        ] {
            let mut now = calls(given);
            set_apart(&mut now, &lines);
            assert_eq!(now, calls(set), "{given:?}");
            lines.push(Line::Calls(String::new(), now));
        }
    }
}
