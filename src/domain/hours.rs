//! Daily hours in a time zone.

/// Hours of the day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {}
