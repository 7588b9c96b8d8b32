//! Names that survive in any text: of what a contact wrote, and of what the model answered. By them a judge tells which
//! answer belongs to which message.

/// Names one message of one contact, in a form that survives in any text: `c17n42`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Marker {
    pub(crate) contact: usize,
    pub(crate) number: usize,
}

impl Marker {
    /// Every marker in a text, in order.
    pub(crate) fn all_in(text: &str) -> Vec<Self> {
        text.split_whitespace().filter_map(Self::read).collect()
    }

    fn read(word: &str) -> Option<Self> {
        let (contact, number) = word.strip_prefix('c')?.split_once('n')?;
        Some(Self { contact: contact.parse().ok()?, number: number.parse().ok()? })
    }
}

impl std::fmt::Display for Marker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "c{}n{}", self.contact, self.number)
    }
}

/// Names one part of one answer of the model: `a12.1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Part {
    pub(crate) call: usize,
    pub(crate) part: usize,
    pub(crate) parts: usize,
}

impl Part {
    /// Every name of a part in a text, in order.
    pub(crate) fn all_in(text: &str) -> Vec<Self> {
        text.split_whitespace().filter_map(Self::read).collect()
    }

    fn read(word: &str) -> Option<Self> {
        let (call, rest) = word.strip_prefix('a')?.split_once('.')?;
        let (part, parts) = rest.split_once('/')?;
        Some(Self { call: call.parse().ok()?, part: part.parse().ok()?, parts: parts.parse().ok()? })
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a{}.{}/{}", self.call, self.part, self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_text() {
        let text = "a12.1/2 answers c17n42 c17n43 cancan and so on";
        let marker = |number| Marker { contact: 17, number };
        assert_eq!(Marker::all_in(text), [marker(42), marker(43)]);
        assert_eq!(Part::all_in(text), [Part { call: 12, part: 1, parts: 2 }]);
        assert_eq!(marker(42).to_string(), "c17n42");
        assert_eq!(Part::all_in(text)[0].to_string(), "a12.1/2");
    }
}
