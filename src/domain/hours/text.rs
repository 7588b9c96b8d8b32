//! Hours as people write them.
//!
//! In: a line of the settings. Out: hours, or one clear line on what is wrong with it; and hours in their normal form.

use std::fmt;

use jiff::tz::TimeZone;

use super::{DAY_MINUTES, EVERY_DAY, Hours, Window};

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Why a text does not name hours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoursError {
    /// There is no window in it, or in one of its rules.
    #[error("hours need a window such as 09:00-18:00")]
    NoWindow,
    /// A window without length.
    #[error("{0:?} is empty; the whole day is 00:00-24:00")]
    EmptyWindow(String),
    /// Begins as a window, but isn't one.
    #[error("{0:?} is not a window of time such as 09:00-18:00")]
    BadWindow(String),
    /// Days that no window follows.
    #[error("{0:?} is not followed by a window such as 09:00-18:00")]
    DaysAlone(String),
    /// Neither a day nor a window, and not the last word.
    #[error("{0:?} is neither a weekday such as Mon or Mon-Fri, nor a window such as 09:00-18:00")]
    UnknownWord(String),
    /// The last word is not a zone.
    #[error("{0:?} is not a time zone such as Asia/Singapore")]
    UnknownZone(String),
}

impl Hours {
    /// Reads hours; `default_zone` counts where the text names none.
    pub fn parse(text: &str, default_zone: &str) -> Result<Self, HoursError> {
        let text = text.replace(['–', '—'], "-").replace(" -", "-").replace("- ", "-");
        let between = |c: char| c.is_whitespace() || c == ';' || c == ',';
        let text = text.trim_end_matches(between);
        let (rules, zone) = match text.rsplit_once(between) {
            Some((rules, last)) if !is_window(last) && days(last).is_none() => (rules, last),
            _ => (text, default_zone),
        };
        let mut windows = Vec::new();
        for rule in rules.trim_end_matches(between).split(';') {
            parse_rule(rule, &mut windows)?;
        }
        Ok(Self { windows, zone: parse_zone(zone)? })
    }
}

fn parse_rule(rule: &str, windows: &mut Vec<Window>) -> Result<(), HoursError> {
    // Days named since the last window; None: as the window before.
    let mut named: Option<u8> = None;
    let mut named_last = "";
    let mut current = EVERY_DAY;
    let before = windows.len();
    for word in rule.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
        if is_window(word) {
            current = named.take().unwrap_or(current);
            windows.push(parse_window(word, current)?);
        } else {
            let days = days(word).ok_or_else(|| HoursError::UnknownWord(shown(word)))?;
            named = Some(named.unwrap_or(0) | days);
            named_last = word;
        }
    }
    match named {
        Some(_) => Err(HoursError::DaysAlone(shown(named_last))),
        None if windows.len() == before => Err(HoursError::NoWindow),
        None => Ok(()),
    }
}

/// Whether a word is meant as a window: nothing else begins with a digit.
fn is_window(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn parse_window(word: &str, days: u8) -> Result<Window, HoursError> {
    let times = word.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
    match times {
        Some((from, to)) if from == to => Err(HoursError::EmptyWindow(shown(word))),
        Some((from, to)) if from < DAY_MINUTES => Ok(Window { days, from, to }),
        _ => Err(HoursError::BadWindow(shown(word))),
    }
}

/// The minute of the day of a time such as `9:00` or `24:00`.
fn minute(time: &str) -> Option<u16> {
    let (hour, minute) = time.split_once(':')?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(hour) || !digits(minute) || hour.len() > 2 || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (hour.parse::<u16>().ok()?, minute.parse::<u16>().ok()?);
    let whole = hour * 60 + minute;
    (minute < 60 && whole <= DAY_MINUTES).then_some(whole)
}

/// The bits of a day or of a range of days, which may continue after Sunday.
fn days(word: &str) -> Option<u8> {
    let (first, last) = match word.split_once('-') {
        Some((first, last)) => (weekday(first)?, weekday(last)?),
        None => (weekday(word)?, weekday(word)?),
    };
    let length = (last + 7 - first) % 7;
    Some((0..=length).fold(0, |bits, n| bits | 1 << ((first + n) % 7)))
}

/// A weekday by its English name or the first three letters of it, Monday 0.
fn weekday(name: &str) -> Option<u8> {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let name = name.to_ascii_lowercase();
    (0..).zip(NAMES).find(|(_, full)| name == *full || name == full[..3]).map(|(n, _)| n)
}

fn parse_zone(name: &str) -> Result<TimeZone, HoursError> {
    let zone = TimeZone::get(name).map_err(|_| HoursError::UnknownZone(shown(name)))?;
    // Without a name of its own, a zone could not be written down again.
    if zone.iana_name().is_some() { Ok(zone) } else { Err(HoursError::UnknownZone(shown(name))) }
}

/// As much of a word as belongs in a message.
fn shown(word: &str) -> String {
    word.chars().take(64).collect()
}

/// The normal form, read back as the same hours: `Mon-Fri 09:00-18:00; 20:00-21:00 Asia/Singapore`.
impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, window) in self.windows.iter().enumerate() {
            let separator = if n == 0 { "" } else { "; " };
            write!(f, "{separator}{window}")?;
        }
        write!(f, " {}", self.zone.iana_name().unwrap_or("UTC"))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.days != EVERY_DAY {
            write!(f, "{} ", day_names(self.days))?;
        }
        let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        write!(f, "{}-{}", time(self.from), time(self.to))
    }
}

/// Days as ranges, in the order of the week: `Mon-Wed,Sat`.
fn day_names(bits: u8) -> String {
    let mut ranges: Vec<String> = Vec::new();
    let mut day = 0;
    while day < 7 {
        let length = (day..7).take_while(|n| bits & 1 << n != 0).count();
        match length {
            0 => {}
            1 => ranges.push(DAYS[day].to_owned()),
            _ => ranges.push(format!("{}-{}", DAYS[day], DAYS[day + length - 1])),
        }
        day += length + 1;
    }
    ranges.join(",")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::hours::tests::window;

    fn hours(text: &str) -> Hours {
        Hours::parse(text, "Asia/Singapore").expect("these are hours")
    }

    #[test]
    fn every_way_to_write_hours_has_one_normal_form() {
        for (text, normal) in [
            ("21:00-08:00", "21:00-08:00 Asia/Singapore"),
            ("21:00-08:00 Europe/Berlin", "21:00-08:00 Europe/Berlin"),
            (" 9:00 – 18:00  europe/berlin ", "09:00-18:00 Europe/Berlin"),
            ("00:00-24:00 UTC", "00:00-24:00 UTC"),
            ("Mon-Fri 09:00-18:00 UTC", "Mon-Fri 09:00-18:00 UTC"),
            ("monday - FRIDAY 09:00-18:00", "Mon-Fri 09:00-18:00 Asia/Singapore"),
            ("Mon,Wed 09:00-12:00", "Mon,Wed 09:00-12:00 Asia/Singapore"),
            ("Mon, Tue,Wed ,Sun 09:00-12:00", "Mon-Wed,Sun 09:00-12:00 Asia/Singapore"),
            ("Fri-Mon 22:00-02:00", "Mon,Fri-Sun 22:00-02:00 Asia/Singapore"),
            ("09:00-18:00; UTC", "09:00-18:00 UTC"),
            ("09:00-12:00 ,13:00-18:00 , UTC", "09:00-12:00; 13:00-18:00 UTC"),
            ("Mon-Sun 09:00-12:00", "09:00-12:00 Asia/Singapore"),
            (
                "Mon-Fri 09:00-12:00,13:00-18:00; Sat 10:00-14:00 UTC",
                "Mon-Fri 09:00-12:00; Mon-Fri 13:00-18:00; Sat 10:00-14:00 UTC",
            ),
            (
                "Mon 09:00-12:00, Tue 10:00-12:00; 20:00-21:00;",
                "Mon 09:00-12:00; Tue 10:00-12:00; 20:00-21:00 Asia/Singapore",
            ),
            ("Mon-Wed,Tue 09:00-18:00", "Mon-Wed 09:00-18:00 Asia/Singapore"),
            ("20:00-24:00;00:00-06:00;America/New_York", "20:00-24:00; 00:00-06:00 America/New_York"),
        ] {
            let parsed = hours(text);
            assert_eq!(parsed.to_string(), normal, "{text:?}");
            assert_eq!(hours(normal), parsed, "{normal:?} is read back");
        }
    }

    #[test]
    fn what_is_no_hours_is_refused_in_one_clear_line() {
        let unknown = "is neither a weekday such as Mon or Mon-Fri, nor a window such as 09:00-18:00";
        for (text, error) in [
            ("", "hours need a window such as 09:00-18:00".to_owned()),
            (" ; ", "hours need a window such as 09:00-18:00".to_owned()),
            ("09:00-09:00", r#""09:00-09:00" is empty; the whole day is 00:00-24:00"#.to_owned()),
            ("09:00-25:00", r#""09:00-25:00" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("24:00-08:00", r#""24:00-08:00" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("09:60-18:00", r#""09:60-18:00" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("9-18", r#""9-18" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("009:00-18:00", r#""009:00-18:00" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("09:0-18:00", r#""09:0-18:00" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("09:+5-18:00", r#""09:+5-18:00" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("09:00-+9:30", r#""09:00-+9:30" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("09:00", r#""09:00" is not a window of time such as 09:00-18:00"#.to_owned()),
            ("Mon-Fri", r#""Mon-Fri" is not followed by a window such as 09:00-18:00"#.to_owned()),
            ("09:00-12:00 Mon,Tue", r#""Tue" is not followed by a window such as 09:00-18:00"#.to_owned()),
            ("09:00-12:00, Mon", r#""Mon" is not followed by a window such as 09:00-18:00"#.to_owned()),
            ("Mo-Fr 09:00-18:00", format!(r#""Mo-Fr" {unknown}"#)),
            ("always", format!(r#""always" {unknown}"#)),
            (
                "09:00-18:00 Asia/Atlantis",
                r#""Asia/Atlantis" is not a time zone such as Asia/Singapore"#.to_owned(),
            ),
        ] {
            let refused = Hours::parse(text, "UTC").expect_err(text);
            assert_eq!(refused.to_string(), error, "{text:?}");
        }
        assert!(Hours::parse("09:00-18:00", "Nowhere").is_err(), "the default zone is checked too");
    }

    proptest! {
        #[test]
        fn hours_are_read_back_as_they_were_written(windows in prop::collection::vec(window(), 1..5)) {
            let hours = Hours { windows, zone: TimeZone::get("America/New_York").expect("a zone") };
            prop_assert_eq!(Hours::parse(&hours.to_string(), "UTC"), Ok(hours));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in r"[MonTueFri0-9:,; /–-]{0,40}|\PC{0,20}") {
            if let Ok(hours) = Hours::parse(&text, "UTC") {
                prop_assert_eq!(Hours::parse(&hours.to_string(), "UTC"), Ok(hours));
            }
        }
    }
}
