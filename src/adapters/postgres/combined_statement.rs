//! Several statements as one: each round trip to the server costs more than most of what is done there.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

/// The moment by the server's clock, as it is when the row is made.
pub(super) const CLOCK: &str = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

/// Stands in every statement that saves, for the condition under which it does anything.
pub(super) const IF: &str = "/* if */ true";

/// What must still hold when something is saved without having been locked before. It waits for nobody: what somebody
/// else has locked does not hold.
const GUARD: &str = "mine as materialized (
        select c.id from json_array_elements($1::json) k
        join conversations c on c.id = k ->> 0 and c.stamp = (k ->> 1)::bigint
        order by c.id for update of c skip locked),
    taken as materialized (
        select from json_array_elements($2::json) k, lateral (
            (select from messages where conversation_id = k ->> 0 and key = k ->> 1)
            union all
            (select from messages where conversation_id = k ->> 0 and provider_message_id = k ->> 1) offset 0) m),
    removed as materialized (
        select from json_array_elements($3::json) k
        where exists (select from tombstones where hash = k ->> 3 and (k ->> 4 is null or until >= (k ->> 4)::bigint))
        or exists (select from erased_chats e join messages m on m.conversation_id = e.conversation_id
            where e.channel = k ->> 0 and e.chat_id = k ->> 1
            and (m.key = k ->> 2 or m.provider_message_id = k ->> 2))),
    lanes as materialized (
        select h.name from json_array_elements($4::json) k
        join channels h on h.name = k ->> 0 and h.state = k ->> 1 and h.next_send_at = (k ->> 2)::bigint
            and h.sends = (k ->> 3)::bigint
        order by h.name for no key update of h skip locked),
    guard as materialized (
        select (select count(*) from mine) = json_array_length($1::json)
            and not exists (select from taken) and not exists (select from removed)
            and (select count(*) from lanes) = json_array_length($4::json) as holds)";

/// Its parameters.
const GUARDS: usize = 4;

/// The texts of statements that were put together, by the addresses of their parts: there are few.
static TEXTS: LazyLock<Mutex<Texts>> = LazyLock::new(Mutex::default);

type Texts = HashMap<(Vec<usize>, bool), Arc<str>>;

/// Several statements as one, so that they cost one round trip. Each has a parameter of its own, and begins when
/// the one before has ended: left to itself the server runs them in an order of its own, and a key that one row gives
/// up is taken by another. Behind the guard, which has the first parameters, each does nothing unless the guard holds.
pub(super) fn combine(parts: &[&'static str], is_guarded: bool) -> Arc<str> {
    let addresses = parts.iter().map(|part| part.as_ptr() as usize).collect();
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let text = texts.entry((addresses, is_guarded)).or_insert_with(|| {
        let mut ctes: Vec<String> = is_guarded.then(|| GUARD.to_owned()).into_iter().collect();
        for (number, part) in parts.iter().enumerate() {
            let part = part.replace("$1", &format!("${}", number + 1 + if is_guarded { GUARDS } else { 0 }));
            let holds = if is_guarded { "(select holds from guard)" } else { "true" };
            let before = number.checked_sub(1);
            let in_order = before.map(|before| format!(" and (select count(*) from part_{before}) >= 0"));
            let condition = format!("{holds}{}", in_order.unwrap_or_default());
            ctes.push(format!("part_{number} as ({} returning 1)", part.replace(IF, &condition)));
        }
        let answer = if is_guarded {
            format!("case when holds then {CLOCK} end as now from guard")
        } else {
            "1".to_owned()
        };
        format!("with {} select {answer}", ctes.join(", ")).into()
    });
    Arc::clone(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_a_parameter_of_its_own_and_does_nothing_unless_the_guard_holds() {
        const PARTS: [&str; 2] = [
            "delete from a where id = $1 and /* if */ true",
            "delete from b where $1 = $1 and /* if */ true",
        ];
        assert_eq!(
            &*combine(&PARTS, false),
            "with part_0 as (delete from a where id = $1 and true returning 1), \
             part_1 as (delete from b where $2 = $2 and true and (select count(*) from part_0) >= 0 returning 1) select 1"
        );
        let guarded = combine(&PARTS, true);
        assert!(guarded.contains("a where id = $5 and (select holds from guard) returning 1)"));
        assert!(guarded.contains("b where $6 = $6 and (select holds from guard) and (select count(*)"));
        assert!(guarded.starts_with("with mine as materialized"), "the locks come first");
    }
}
