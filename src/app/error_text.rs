//! An error in one line, as people are shown it.

/// The error and what caused it, one after the other. What says its cause in its own words does not say it twice.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if told.is_empty() {
            told = cause;
        } else if !told.ends_with(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_told_once() {
        let error =
            anyhow::anyhow!("the line is cut").context("no answer: the line is cut").context("no list");
        assert_eq!(with_causes(&error), "no list: no answer: the line is cut");
        assert_eq!(with_causes(&anyhow::anyhow!("no list")), "no list");
    }
}
