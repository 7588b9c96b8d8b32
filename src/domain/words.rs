//! Closed vocabularies: an enum whose variants each have one word, the same in code, SQL, API and logs.

use std::str::FromStr;

/// An enum that `words!` declares.
pub(crate) trait Vocabulary: Copy + FromStr<Err = UnknownWord> + 'static {
    /// Every variant, in the order of the declaration.
    const ALL: &'static [Self];

    /// The word for it.
    fn as_str(self) -> &'static str;
}

/// Declares an enum with one word a variant: a [`Vocabulary`], whose list and words a constant may use too.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// Every variant, in the order of the declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl $crate::domain::words::Vocabulary for $name {
            const ALL: &'static [Self] = Self::ALL;

            fn as_str(self) -> &'static str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::domain::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::domain::words::UnknownWord {
                        word: word.chars().take(64).collect(),
                        known: &[$($word,)+],
                    }),
                }
            }
        }
    };
}

pub(crate) use words;

/// A word that is not in its vocabulary.
#[derive(Debug, thiserror::Error)]
#[error("{word:?} is not one of {}", known.join(", "))]
pub struct UnknownWord {
    /// The word that was given.
    pub word: String,
    /// The words of the vocabulary.
    pub known: &'static [&'static str],
}
