//! Ids, moments and words as JSON, for answers and requests alike.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, Ref, RefOr, Schema, SchemaFormat, Type, schema::AnyOfBuilder},
};
use uuid::Uuid;

use crate::{
    domain::{time::Time, words::Vocabulary},
    flow::back_office::registry::Role,
};

/// Reads a string by `FromStr` of another type.
struct Reads<T>(fn(&str) -> Result<T, String>);

impl<T> de::Visitor<'_> for Reads<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

fn string_schema(format: SchemaFormat) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
}

/// An id of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Id(pub(crate) Uuid);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| Uuid::try_parse(text).map_err(|_| "not an id".to_owned());
        deserializer.deserialize_str(Reads(read)).map(Self)
    }
}

impl PartialSchema for Id {
    fn schema() -> RefOr<Schema> {
        string_schema(SchemaFormat::Custom("uuid".to_owned()))
    }
}

impl ToSchema for Id {}

/// A moment: RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(pub(crate) Time);

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| Time::parse(text).ok_or_else(|| "not a time in RFC 3339".to_owned());
        deserializer.deserialize_str(Reads(read)).map(Self)
    }
}

impl PartialSchema for At {
    fn schema() -> RefOr<Schema> {
        string_schema(SchemaFormat::KnownFormat(KnownFormat::DateTime))
    }
}

impl ToSchema for At {
    fn name() -> Cow<'static, str> {
        "Time".into()
    }
}

/// A vocabulary, under its name in the description of the API.
pub(crate) trait Named: Vocabulary {
    /// That name.
    const NAME: &'static str;
}

/// A word of a vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<T>(pub(crate) T);

impl<T: Vocabulary> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl<'de, T: Vocabulary> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| text.parse::<T>().map_err(|error| error.to_string());
        deserializer.deserialize_str(Reads(read)).map(Self)
    }
}

impl<T: Vocabulary> PartialSchema for Word<T> {
    fn schema() -> RefOr<Schema> {
        let words = T::ALL.iter().map(|word| word.as_str());
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
    }
}

impl<T: Named> ToSchema for Word<T> {
    fn name() -> Cow<'static, str> {
        T::NAME.into()
    }
}

/// Each vocabulary under a name without brackets, which is what the description of the API is made from.
pub(crate) mod vocabulary {
    use super::{Named, Word};
    use crate::{
        domain::{
            conversation::{AttentionReason, Status},
            draft::DraftState,
            endpoint::{
                DeliveryState as WebhookDeliveryState, DisabledReason, State as EndpointState,
                Trouble as WebhookTrouble,
            },
            event::EventType,
            faults::{ModelFault, ProviderFault},
            lane::Lane,
            message::{Author, DeliveryReason, DeliveryState, Kind, Origin, Outcome, OutcomeReason},
            mode::{Mode, Reason},
            turn::{FollowUpState, LetterKind, LetterState, Purpose, TurnState},
        },
        flow::{
            back_office::{audit::Deed, people::Role as AgentRole, registry::Role},
            instance::onlookers::Presence,
            media::files::Availability,
        },
        http::ports::LinkState,
    };

    macro_rules! vocabularies {
        ($($word:ident = $domain:ident,)+) => {$(
            #[doc = concat!("A word of `", stringify!($domain), "`.")]
            pub(crate) type $word = Word<$domain>;

            impl Named for $domain {
                const NAME: &'static str = stringify!($domain);
            }
        )+};
    }

    vocabularies! {
        AttentionWord = AttentionReason,
        StatusWord = Status,
        EventWord = EventType,
        LaneWord = Lane,
        AuthorWord = Author,
        DeliveryReasonWord = DeliveryReason,
        DeliveryStateWord = DeliveryState,
        KindWord = Kind,
        OriginWord = Origin,
        OutcomeWord = Outcome,
        OutcomeReasonWord = OutcomeReason,
        ModeWord = Mode,
        ReasonWord = Reason,
        FollowUpStateWord = FollowUpState,
        LetterKindWord = LetterKind,
        DeedWord = Deed,
        LetterStateWord = LetterState,
        PurposeWord = Purpose,
        TurnStateWord = TurnState,
        DraftStateWord = DraftState,
        EndpointStateWord = EndpointState,
        DisabledReasonWord = DisabledReason,
        WebhookDeliveryStateWord = WebhookDeliveryState,
        WebhookTroubleWord = WebhookTrouble,
        RoleWord = Role,
        AgentRoleWord = AgentRole,
        PresenceWord = Presence,
        StandingWord = Availability,
        ModelFaultWord = ModelFault,
        ProviderFaultWord = ProviderFault,
        LinkStateWord = LinkState,
    }
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct List<T> {
    /// The page.
    pub(crate) items: Vec<T>,
    /// `cursor` of the next page; null at the end.
    #[schema(required)]
    pub(crate) next_cursor: Option<String>,
}

impl<T> List<T> {
    /// From what a place gave.
    pub(crate) fn of<D>(page: crate::flow::archive::Page<D>, show: impl FnMut(D) -> T) -> Self {
        Self { items: page.items.into_iter().map(show).collect(), next_cursor: page.next }
    }
}

/// What an admin sees whole and everybody else at a glance.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Seen<Whole, Glance> {
    /// By an admin.
    Whole(Whole),
    /// By everybody else.
    Glance(Glance),
}

impl<Whole, Glance> Seen<Whole, Glance> {
    /// By somebody in that role.
    pub(crate) fn by<T: Into<Whole> + Into<Glance>>(role: Role, it: T) -> Self {
        match role {
            Role::Admin => Self::Whole(it.into()),
            Role::Agent | Role::Read | Role::Metrics => Self::Glance(it.into()),
        }
    }
}

impl<Whole: ToSchema, Glance: ToSchema> PartialSchema for Seen<Whole, Glance> {
    /// Not one of the two: what is whole is also at least a glance.
    fn schema() -> RefOr<Schema> {
        let either = AnyOfBuilder::new().item(Ref::from_schema_name(Whole::name()));
        either.item(Ref::from_schema_name(Glance::name())).into()
    }
}

impl<Whole: ToSchema, Glance: ToSchema> ToSchema for Seen<Whole, Glance> {
    fn name() -> Cow<'static, str> {
        format!("{}Or{}", Whole::name(), Glance::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Whole::name().into_owned(), Whole::schema()));
        schemas.push((Glance::name().into_owned(), Glance::schema()));
        Whole::schemas(schemas);
        Glance::schemas(schemas);
    }
}
