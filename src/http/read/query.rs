//! The query: strict, and read as its fields say.

use std::{
    collections::BTreeMap,
    fmt::Display,
    future::{Ready, ready},
};

use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IntoDeserializer, Visitor, value::MapDeserializer},
    forward_to_deserialize_any,
};

use super::pointer;
use crate::http::problem::Problem;

/// The query.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(from_query(request.query_string()).map(Self))
    }
}

/// A name given twice counts as a list: `type=a&type=b` is `type=a,b`.
fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let pairs = web::Query::<Vec<(String, String)>>::from_query(query)
        .map_err(|_| Problem::malformed("the query cannot be read"))?;
    let mut given = BTreeMap::<String, String>::new();
    for (name, value) in pairs.into_inner() {
        if value.contains('\0') {
            return Err(Problem::invalid(format!("/{name}"), "holds a zero character"));
        }
        given
            .entry(name)
            .and_modify(|all| {
                all.push(',');
                all.push_str(&value);
            })
            .or_insert(value);
    }
    let fields = given.into_iter().map(|(name, value)| (name, Part(value)));
    serde_path_to_error::deserialize(MapDeserializer::<_, serde::de::value::Error>::new(fields))
        .map_err(|error| Problem::invalid(pointer(error.path()), error.inner().to_string()))
}

/// One value of a query: a string, read as whatever is asked for.
struct Part(String);

macro_rules! read_by_parsing {
    ($($method:ident $visit:ident $expected:literal)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            let read = self.0.parse().map_err(|_| serde::de::Error::custom($expected))?;
            visitor.$visit(read)
        }
    )+};
}

impl<'de> Deserializer<'de> for Part {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_string(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    read_by_parsing! {
        deserialize_bool visit_bool "neither true nor false"
        deserialize_i64 visit_i64 "not a whole number"
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de> for Part {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Several words with commas between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Several<T>(pub(crate) Vec<T>);

impl<'de, T: std::str::FromStr<Err: Display>> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let words = text.split(',').map(|word| word.trim().parse().map_err(serde::de::Error::custom));
        words.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        attention: Option<bool>,
        limit: Option<i64>,
        name: Option<String>,
        #[serde(rename = "type")]
        kinds: Option<Several<crate::domain::mode::Mode>>,
    }

    #[test]
    fn a_query_is_read_as_its_fields_say() {
        use crate::domain::mode::Mode;
        let form: Form =
            from_query("attention=true&limit=7&type=AI&type=HUMAN&name=a%2Cb%20c").expect("readable");
        let kinds = Some(Several(vec![Mode::Ai, Mode::Human]));
        assert_eq!(
            form,
            Form { attention: Some(true), limit: Some(7), name: Some("a,b c".to_owned()), kinds }
        );
    }

    #[test]
    fn what_is_wrong_with_a_query_is_told_by_name() {
        for (query, name) in [
            ("attention=yes", "/attention"),
            ("limit=many", "/limit"),
            ("type=ai", "/type"),
            ("nmae=x", "/nmae"),
            ("name=%00", "/name"),
        ] {
            let problem = from_query::<Form>(query).expect_err(query);
            let said = serde_json::to_value(problem.faults()).expect("json");
            assert_eq!(said[0]["pointer"], name, "{query}: {said}");
        }
    }
}
