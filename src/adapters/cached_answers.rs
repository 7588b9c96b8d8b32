//! Which turn answered which question, for both databases. No texts: an answer is read from the messages that gave it,
//! as they stand now.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    purge,
    sql::{Statement, Store, cell},
};
use crate::{
    domain::time::Time,
    flow::{
        generator::cached_answers::{Answered, Answers, Question},
        ledger::Error,
    },
};

/// Most parts of one answer.
const PARTS_MAX: i64 = 50;

#[async_trait]
impl<S: Store> Answers for S {
    async fn keep_answer(&self, answered: &Answered) -> Result<(), Error> {
        let statement = Statement::new(
            "insert into cached_answers (turn_id, channel, question, prompt, conversation_id, alone, at) \
             select $1, $2, $3, $4, $5, $6, $7 where exists (select 1 from turns where id = $1) \
             on conflict (turn_id) do nothing",
        )
        .with(answered.turn)
        .with(answered.question.channel.as_str())
        .with(answered.question.words.as_str())
        .with(answered.question.prompt.as_str())
        .with(answered.conversation)
        .with(answered.alone)
        .with(answered.at);
        self.write(statement).await.map(drop)
    }

    async fn find_answer(
        &self,
        question: &Question,
        conversation: Uuid,
        since: Time,
    ) -> Result<Option<(Uuid, String)>, Error> {
        let newest = Statement::new(
            "select a.turn_id from cached_answers a where a.channel = $1 and a.question = $2 and a.prompt = $3 \
             and (a.alone or a.conversation_id = $4) and a.at >= $5 \
             and not exists (select 1 from messages m where m.conversation_id = a.conversation_id \
                 and m.turn_id = a.turn_id and m.state is not null \
                 and (m.state not in ('sent', 'delivered', 'read') or m.deleted_at is not null)) \
             and not exists (select 1 from messages m where m.conversation_id = a.conversation_id \
                 and m.author = 'agent' and m.kind <> 'note' and m.at >= a.at) \
             order by a.at desc limit 1",
        )
        .with(question.channel.as_str())
        .with(question.words.as_str())
        .with(question.prompt.as_str())
        .with(conversation)
        .with(since);
        let Some(row) = self.row(newest).await? else { return Ok(None) };
        let turn: Uuid = cell(&row, "turn_id")?;
        let parts = Statement::new(
            "select m.text from messages m join cached_answers a on a.conversation_id = m.conversation_id \
             where a.turn_id = $1 and m.turn_id = $1 and m.state is not null order by m.seq limit $2",
        );
        let parts = self.rows(parts.with(turn).with(PARTS_MAX)).await?;
        let texts: Result<Vec<String>, Error> = parts.iter().map(|row| cell(row, "text")).collect();
        let text = texts?.join("\n\n");
        Ok((!text.is_empty()).then_some((turn, text)))
    }

    async fn forget_answers(&self, before: Time) -> Result<u64, Error> {
        purge::remove(self, "cached_answers", "r.at < $1", before).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        adapters::test_stores::{NOW, TestStore, begun, from_contact, from_us, on_both_stores, turn},
        domain::{
            conversation::Conversation,
            message::{Author, DeliveryState, Message},
        },
    };

    on_both_stores!(
        an_answer_about_nobody_is_everybodys_and_another_only_its_conversations,
        only_what_has_left_and_nobody_has_corrected_is_an_answer,
        an_answer_goes_with_its_turn_and_with_time,
    );

    fn question(words: &str) -> Question {
        Question { channel: "shop".to_owned(), words: words.to_owned(), prompt: "p".to_owned() }
    }

    /// A conversation in which a turn answered in two parts, the last in that state.
    async fn answer<S: TestStore>(
        store: &S,
        chat: &str,
        alone: bool,
        last: DeliveryState,
    ) -> (Conversation, Uuid) {
        let conversation = begun("shop", chat);
        store.keep_conversation(&conversation).await;
        let turn = turn(NOW);
        let part = |seq, text: &str, state| Message {
            turn: Some(turn.id),
            ..from_us(seq, Author::Assistant, text, NOW, state)
        };
        let asked = Message { turn: Some(turn.id), ..from_contact(1, "When?", NOW) };
        let parts = vec![asked, part(2, "At nine.", DeliveryState::Read), part(3, "Bring cash.", last)];
        store.keep_messages(&conversation, parts).await;
        let id = turn.id;
        store.keep_turns(&conversation, vec![turn]).await;
        let (question, conversation_id) = (question("when"), conversation.id);
        let answered = Answered { question, conversation: conversation_id, turn: id, alone, at: NOW };
        store.keep_answer(&answered).await.expect("writes");
        (conversation, id)
    }

    async fn found<S: TestStore>(
        store: &S,
        question: &Question,
        asking: Uuid,
        since: Time,
    ) -> Option<String> {
        let found = store.find_answer(question, asking, since).await.expect("reads");
        found.map(|(_, text)| text)
    }

    async fn an_answer_about_nobody_is_everybodys_and_another_only_its_conversations<S: TestStore>(
        store: &S,
    ) {
        let (mei, _) = answer(store, "6580000001@c.us", false, DeliveryState::Sent).await;
        let other = begun("shop", "6580000002@c.us").id;
        let whole = Some("At nine.\n\nBring cash.".to_owned());
        assert_eq!(found(store, &question("when"), mei.id, NOW).await, whole);
        assert_eq!(found(store, &question("when"), other, NOW).await, None);
        answer(store, "6580000003@c.us", true, DeliveryState::Delivered).await;
        assert_eq!(found(store, &question("when"), other, NOW).await, whole);
        for (what, question) in [
            ("other words", question("where")),
            ("another channel", Question { channel: "till".to_owned(), ..question("when") }),
            ("another prompt", Question { prompt: "q".to_owned(), ..question("when") }),
        ] {
            assert_eq!(found(store, &question, other, NOW).await, None, "{what}");
        }
        assert_eq!(found(store, &question("when"), other, NOW.plus_ms(1)).await, None, "too long ago");
    }

    async fn only_what_has_left_and_nobody_has_corrected_is_an_answer<S: TestStore>(store: &S) {
        use DeliveryState as State;
        for (n, state) in
            [State::Queued, State::Unknown, State::Failed, State::Cancelled].into_iter().enumerate()
        {
            let (conversation, _) = answer(store, &format!("658000001{n}@c.us"), true, state).await;
            assert_eq!(found(store, &question("when"), conversation.id, NOW).await, None, "{state:?}");
        }
        let (mei, _) = answer(store, "6580000001@c.us", true, State::Sent).await;
        assert!(found(store, &question("when"), mei.id, NOW).await.is_some());
        let agents = from_us(4, Author::Agent, "At ten, sorry.", NOW.plus_ms(60_000), State::Queued);
        store.keep_messages(&mei, vec![agents]).await;
        assert_eq!(found(store, &question("when"), mei.id, NOW).await, None);
        let (bo, turn) = answer(store, "6580000002@c.us", true, State::Sent).await;
        assert!(found(store, &question("when"), bo.id, NOW).await.is_some());
        let deletes =
            Statement::new("update messages set deleted_at = $1 where turn_id = $2").with(NOW).with(turn);
        store.write(deletes).await.expect("writes");
        assert_eq!(found(store, &question("when"), bo.id, NOW).await, None, "deleted on the phone");
    }

    async fn an_answer_goes_with_its_turn_and_with_time<S: TestStore>(store: &S) {
        let (mei, turn) = answer(store, "6580000001@c.us", true, DeliveryState::Sent).await;
        assert_eq!(store.forget_answers(NOW).await.expect("writes"), 0);
        assert_eq!(store.forget_answers(NOW.plus_ms(1)).await.expect("writes"), 1);
        assert_eq!(found(store, &question("when"), mei.id, NOW).await, None);
        let gone = Answered {
            question: question("when"),
            conversation: mei.id,
            turn: Uuid::now_v7(),
            alone: true,
            at: NOW,
        };
        store.keep_answer(&gone).await.expect("a turn that was erased meanwhile is no failure");
        let kept = Answered { turn, ..gone };
        store.keep_answer(&kept).await.expect("writes");
        store.keep_answer(&kept).await.expect("twice is once");
        let erase = Statement::new("delete from conversations where id = $1").with(mei.id);
        store.write(erase).await.expect("writes");
        assert_eq!(store.forget_answers(NOW.plus_ms(1)).await.expect("writes"), 0, "it went with them");
    }
}
