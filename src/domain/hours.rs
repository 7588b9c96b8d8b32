//! Hours of the day, by weekday, in a time zone: quiet hours, the assistant's hours, hours for handing over.
//!
//! In: a line of the settings, and moments. Out: whether a moment is inside, and when that changes.
//!
//! ```text
//! hours   = rule { ";" rule } [ zone ]             Mon-Fri 09:00-12:00,13:00-18:00; Sat 10:00-14:00 Asia/Singapore
//! rule    = [ days ] window { "," [ days ] window }
//! days    = day [ "-" day ] { "," day [ "-" day ] }    Mon-Fri    Sat,Sun    Fri-Mon
//! window  = time "-" time                          21:00-08:00 runs past midnight, 00:00-24:00 is the whole day
//! ```
//!
//! Without days: every day, or those of the window before in the same rule. A window belongs to the day on which it
//! begins. Hours are read off the clock on the wall: one that a change of the clocks skips does not exist on that
//! day, and one that it repeats counts twice.

mod text;

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::time::Time;

pub use text::HoursError;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
const DAY_MINUTES: u16 = 24 * 60;

const EVERY_DAY: u8 = 0b111_1111;

/// How far to look for a change. Hours repeat every week; a change of the clocks can skip one of them.
const LOOK_AHEAD_MS: i64 = 15 * DAY_MS;

/// Hours of the day, by weekday, in a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {
    windows: Vec<Window>,
    zone: TimeZone,
}

/// The beginning of the day in that zone to which a moment belongs. None: there is no such zone.
pub fn day_began(zone: &str, at: Time) -> Option<Time> {
    let zone = TimeZone::get(zone).ok()?;
    day_of(&zone, zone.to_datetime(timestamp(at)).date())
}

/// The day there: `Thursday, 8 January 2026`.
pub fn day_in(zone: &TimeZone, at: Time) -> String {
    zone.to_datetime(timestamp(at)).strftime("%A, %-d %B %Y").to_string()
}

/// With the time: `Thursday, 8 January 2026, 14:05 (Asia/Singapore)`.
pub fn moment_in(zone: &TimeZone, at: Time) -> String {
    let time = zone.to_datetime(timestamp(at)).strftime("%H:%M").to_string();
    format!("{}, {time} ({})", day_in(zone, at), zone.iana_name().unwrap_or("UTC"))
}

/// Days on end that are as long as each other: all are, but for those on which the clocks change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// When the first one begins.
    pub from: Time,
    /// When the last one is over.
    pub to: Time,
    /// How long each is.
    pub each_ms: i64,
}

/// The days in that zone that a span touches, the first of them whole. None: there is no such zone.
pub fn days(zone: &str, from: Time, to: Time) -> Option<Vec<Days>> {
    let zone = TimeZone::get(zone).ok()?;
    let mut date = zone.to_datetime(timestamp(from)).date();
    let mut begins = day_of(&zone, date)?;
    let mut days: Vec<Days> = Vec::new();
    while begins < to {
        date = date.tomorrow().ok()?;
        let ends = day_of(&zone, date)?;
        let each_ms = ends.since(begins);
        match days.last_mut() {
            Some(last) if last.each_ms == each_ms => last.to = ends,
            _ => days.push(Days { from: begins, to: ends, each_ms }),
        }
        begins = ends;
    }
    Some(days)
}

/// When a day begins: at midnight, or when there is time again on a day that has no midnight.
fn day_of(zone: &TimeZone, date: Date) -> Option<Time> {
    Some(Time(zone.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_millisecond()))
}

/// When the day of that moment began in that zone, and each of this many days before it; none if there is no such zone.
pub fn days_before(zone: &str, at: Time, count: usize) -> Vec<Time> {
    std::iter::successors(day_began(zone, at), |day| day_began(zone, day.plus_ms(-1)))
        .take(count + 1)
        .collect()
}

/// From a time to a time, on some days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    /// A bit for each day on which it begins, Monday the lowest.
    days: u8,
    /// Minute of the day at which it begins.
    from: u16,
    /// Minute at which it is over; on the next day if it isn't after `from`.
    to: u16,
}

impl Hours {
    /// Whether a moment is inside.
    pub fn contains(&self, at: Time) -> bool {
        let local_ms = self.local_ms(at);
        let day = local_ms.div_euclid(DAY_MS);
        let minute = local_ms.rem_euclid(DAY_MS) / MINUTE_MS;
        self.windows.iter().any(|window| window.contains(day, minute))
    }

    /// The first moment from `at` on that is inside; the end of the calendar if there is none.
    pub fn next_open(&self, at: Time) -> Time {
        self.next(at, true)
    }

    /// The first moment from `at` on that is outside; the end of the calendar if there is none.
    pub fn next_close(&self, at: Time) -> Time {
        self.next(at, false)
    }

    /// A moment as people there would say it: `Monday 09:00 (Asia/Singapore)`.
    pub fn told(&self, at: Time) -> String {
        let at = self.zone.to_datetime(timestamp(at));
        format!("{} ({})", at.strftime("%A %H:%M"), self.zone.iana_name().unwrap_or("UTC"))
    }

    fn next(&self, at: Time, inside: bool) -> Time {
        let first = Time(timestamp(at).as_millisecond());
        let mut change = first;
        while change.since(first) < LOOK_AHEAD_MS {
            if self.contains(change) == inside {
                return change;
            }
            change = self.next_change(change);
        }
        Time(Timestamp::MAX.as_millisecond())
    }

    /// The first moment after `at` at which a window may begin or end: an edge on the wall clock as it runs now, or
    /// the moment at which the clock is changed, whichever comes first.
    fn next_change(&self, at: Time) -> Time {
        let time_of_day_ms = self.local_ms(at).rem_euclid(DAY_MS);
        let edges = self.windows.iter().flat_map(|window| [window.from, window.to]);
        let edge = edges
            .map(|minute| i64::from(minute) * MINUTE_MS)
            .filter(|edge| *edge > time_of_day_ms)
            // Midnight is an edge too: another weekday begins.
            .fold(DAY_MS, i64::min);
        let edge = at.plus_ms(edge - time_of_day_ms);
        let clock_change = self.zone.following(timestamp(at)).next();
        clock_change.map_or(edge, |change| edge.min(Time(change.timestamp().as_millisecond())))
    }

    /// Milliseconds since 1970-01-01 00:00 on the wall clock.
    fn local_ms(&self, at: Time) -> i64 {
        let at = timestamp(at);
        at.as_millisecond() + i64::from(self.zone.to_offset(at).seconds()) * 1_000
    }
}

impl Window {
    /// Whether that minute of that day, counted from 1970-01-01, lies inside.
    fn contains(self, day: i64, minute: i64) -> bool {
        let (from, to) = (i64::from(self.from), i64::from(self.to));
        if from < to {
            self.begins_on(day) && (from..to).contains(&minute)
        } else {
            (self.begins_on(day) && minute >= from) || (self.begins_on(day - 1) && minute < to)
        }
    }

    fn begins_on(self, day: i64) -> bool {
        // 1970-01-01 was a Thursday.
        self.days & (1 << (day + 3).rem_euclid(7)) != 0
    }
}

/// The moment as the calendar takes it; one outside of the calendar counts as the nearest one inside.
fn timestamp(at: Time) -> Timestamp {
    Timestamp::from_millisecond(at.0).unwrap_or(if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

#[cfg(test)]
mod tests {
    use jiff::civil::Weekday;
    use proptest::prelude::*;

    use super::*;

    fn hours(text: &str) -> Hours {
        Hours::parse(text, "Asia/Singapore").expect("these are hours")
    }

    fn time(text: &str) -> Time {
        Time::parse(text).expect("a moment")
    }

    #[test]
    fn a_day_begins_at_midnight_on_the_wall() {
        let noon = time("2026-03-29T12:00:00+02:00");
        assert_eq!(day_began("Europe/Berlin", noon), Some(time("2026-03-29T00:00:00+01:00")));
        assert_eq!(day_began("UTC", time("1970-01-01T00:00:00Z")), Some(Time(0)));
        assert_eq!(day_began("Atlantis", noon), None);
        // The clocks go forward that day, which is an hour shorter.
        let days = ["2026-03-29T00:00:00+01:00", "2026-03-28T00:00:00+01:00", "2026-03-27T00:00:00+01:00"];
        assert_eq!(days_before("Europe/Berlin", noon, 2), days.map(time));
        assert_eq!(days_before("Atlantis", noon, 2), []);
    }

    #[test]
    fn days_on_end_are_told_together_until_the_clocks_change() {
        let stretch =
            |from, to, hours: i64| Days { from: time(from), to: time(to), each_ms: hours * 60 * MINUTE_MS };
        let told =
            days("Europe/Berlin", time("2026-03-27T15:00:00+01:00"), time("2026-03-31T09:00:00+02:00"));
        let wanted = [
            stretch("2026-03-27T00:00:00+01:00", "2026-03-29T00:00:00+01:00", 24),
            stretch("2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", 23),
            stretch("2026-03-30T00:00:00+02:00", "2026-04-01T00:00:00+02:00", 24),
        ];
        assert_eq!(told.as_deref(), Some(&wanted[..]));
        let midnight = time("2026-03-27T00:00:00+01:00");
        assert_eq!(days("Europe/Berlin", midnight, midnight), Some(Vec::new()));
        assert_eq!(days("Atlantis", midnight, midnight), None);
    }

    #[test]
    fn a_moment_is_told_by_the_clock_on_the_wall() {
        let hours = hours("Mon-Fri 09:00-18:00");
        let opens = hours.next_open(time("2026-01-09T18:00:00+08:00"));
        assert_eq!(hours.told(opens), "Monday 09:00 (Asia/Singapore)");
    }

    #[test]
    fn a_window_begins_with_its_first_minute_and_ends_before_its_last() {
        // 2026-01-05 is a Monday.
        for (text, at, inside) in [
            ("21:00-08:00", "2026-01-05T20:59:59.999+08:00", false),
            ("21:00-08:00", "2026-01-05T21:00:00+08:00", true),
            ("21:00-08:00", "2026-01-06T07:59:59.999+08:00", true),
            ("21:00-08:00", "2026-01-06T08:00:00+08:00", false),
            ("Mon-Fri 09:00-18:00", "2026-01-09T17:59:00+08:00", true),
            ("Mon-Fri 09:00-18:00", "2026-01-10T12:00:00+08:00", false),
            // Friday's night is Saturday's morning, Sunday's night is nobody's.
            ("Mon-Fri 22:00-02:00", "2026-01-10T01:00:00+08:00", true),
            ("Mon-Fri 22:00-02:00", "2026-01-05T01:00:00+08:00", false),
            ("Sun 22:00-02:00", "2026-01-05T01:00:00+08:00", true),
            ("12:00-24:00", "2026-01-05T23:59:59+08:00", true),
            ("12:00-24:00", "2026-01-06T00:00:00+08:00", false),
            ("00:00-24:00", "2026-01-06T00:00:00+08:00", true),
            ("Mon 09:00-10:00; Tue 11:00-12:00", "2026-01-06T11:30:00+08:00", true),
            ("Mon 09:00-10:00; Tue 11:00-12:00", "2026-01-06T09:30:00+08:00", false),
            ("01:00-02:00 UTC", "2026-01-06T09:30:00+08:00", true),
            ("Thu 00:00-01:00 UTC", "1970-01-01T00:00:00Z", true),
            ("Wed 23:00-24:00 UTC", "1969-12-31T23:30:00Z", true),
        ] {
            assert_eq!(hours(text).contains(time(at)), inside, "{text:?} at {at}");
        }
    }

    #[test]
    fn the_next_change_is_found_over_nights_weeks_and_changes_of_the_clocks() {
        #[rustfmt::skip]
        let table = [
            // hours                            from                         opens                        closes
            ("21:00-08:00",                     "2026-01-05T12:00:00+08:00", "2026-01-05T21:00:00+08:00", "2026-01-05T12:00:00+08:00"),
            ("21:00-08:00",                     "2026-01-05T23:00:00+08:00", "2026-01-05T23:00:00+08:00", "2026-01-06T08:00:00+08:00"),
            ("Mon 09:00-18:00",                 "2026-01-05T18:00:00+08:00", "2026-01-12T09:00:00+08:00", "2026-01-05T18:00:00+08:00"),
            // Two windows that touch are one.
            ("20:00-24:00; 00:00-06:00",        "2026-01-05T21:00:00+08:00", "2026-01-05T21:00:00+08:00", "2026-01-06T06:00:00+08:00"),
            ("Fri-Sun 00:00-24:00",             "2026-01-09T05:00:00+08:00", "2026-01-09T05:00:00+08:00", "2026-01-12T00:00:00+08:00"),
            // Berlin springs from 02:00 to 03:00 on 2026-03-29: what begins in the gap begins after it …
            ("02:30-08:00 Europe/Berlin",       "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T01:00:00+01:00"),
            // … what ends in the gap ends before it …
            ("21:00-02:30 Europe/Berlin",       "2026-03-29T01:00:00+01:00", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"),
            // … and what lies in it falls out: a week later for a weekly window.
            ("Sun 02:15-02:45 Europe/Berlin",   "2026-03-29T00:00:00+01:00", "2026-04-05T02:15:00+02:00", "2026-03-29T00:00:00+01:00"),
            // It falls back from 03:00 to 02:00 on 2026-10-25: the clock shows 02:30 twice.
            ("02:15-02:30 Europe/Berlin",       "2026-10-25T02:30:00+02:00", "2026-10-25T02:15:00+01:00", "2026-10-25T02:30:00+02:00"),
            ("21:00-08:00 Europe/Berlin",       "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T08:00:00+01:00"),
            // Lord Howe moves by half an hour; from 02:00 to 02:30 on 2026-10-04.
            ("02:10-03:00 Australia/Lord_Howe", "2026-10-04T01:00:00+10:30", "2026-10-04T02:30:00+11:00", "2026-10-04T01:00:00+10:30"),
        ];
        for (text, from, opens, closes) in table {
            assert_eq!(hours(text).next_open(time(from)), time(opens), "{text:?} opens after {from}");
            assert_eq!(hours(text).next_close(time(from)), time(closes), "{text:?} closes after {from}");
        }
    }

    #[test]
    fn what_never_closes_closes_at_the_end_of_the_calendar() {
        let end = Time(Timestamp::MAX.as_millisecond());
        assert_eq!(hours("00:00-24:00").next_close(Time(0)), end);
        assert_eq!(hours("06:00-18:00; 18:00-06:00").next_close(Time(0)), end);
        for extreme in [Time(i64::MIN), Time(i64::MAX)] {
            let office = hours("Mon-Fri 09:00-18:00 Europe/Berlin");
            assert!(office.next_open(extreme) <= end);
            assert!(office.next_close(extreme) <= end);
        }
    }

    /// The same question, asked of the calendar's library.
    fn calendar_says(hours: &Hours, at: Time) -> bool {
        let local = hours.zone.to_datetime(timestamp(at));
        let minute = u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
        let on = |weekday: Weekday, bits: u8| bits & 1 << weekday.to_monday_zero_offset() != 0;
        hours.windows.iter().any(|window| {
            let today = on(local.weekday(), window.days);
            let yesterday = on(local.weekday().previous(), window.days);
            if window.from < window.to {
                today && (window.from..window.to).contains(&minute)
            } else {
                (today && minute >= window.from) || (yesterday && minute < window.to)
            }
        })
    }

    pub(super) fn window() -> impl Strategy<Value = Window> {
        // Often at night, where clocks change.
        let edge = || prop_oneof![0_u16..=240, 0_u16..=1_440];
        (1_u8..=EVERY_DAY, edge(), edge())
            .prop_filter("not empty", |(_, from, to)| from != to && *from < DAY_MINUTES)
            .prop_map(|(days, from, to)| Window { days, from, to })
    }

    /// A day on which the clocks of the zone change, and the zone.
    const CHANGES: [(&str, &str); 8] = [
        ("Europe/Berlin", "2026-03-29T00:00:00Z"),
        ("Europe/Berlin", "2026-10-25T00:00:00Z"),
        ("America/New_York", "2026-03-08T05:00:00Z"),
        ("America/New_York", "2026-11-01T05:00:00Z"),
        ("Asia/Singapore", "2026-03-29T00:00:00Z"),
        ("Asia/Singapore", "1981-12-31T16:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T13:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T13:00:00Z"),
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn changes_agree_with_the_calendar_minute_by_minute(
            windows in prop::collection::vec(window(), 1..4),
            (zone, day) in prop::sample::select(&CHANGES[..]),
            shift_ms in 0..MINUTE_MS,
        ) {
            let hours = Hours { windows, zone: TimeZone::get(zone).expect("a zone") };
            let first = time(day).plus_ms(-DAY_MS);
            let minutes: Vec<Time> = (0..3 * 24 * 60).map(|n| first.plus_ms(n * MINUTE_MS)).collect();
            // Every edge is at a full minute, so the next change is the next minute that says otherwise.
            let mut next: [Option<Time>; 2] = [None, None];
            for minute in minutes.into_iter().rev() {
                let inside = hours.contains(minute);
                prop_assert_eq!(inside, calendar_says(&hours, minute), "{} at {}", hours, minute);
                let between = minute.plus_ms(shift_ms);
                prop_assert_eq!(hours.contains(between), inside, "{} at {}", hours, between);
                for (wanted, found) in [(true, hours.next_open(between)), (false, hours.next_close(between))] {
                    match next[usize::from(wanted)] {
                        _ if inside == wanted => prop_assert_eq!(found, between),
                        Some(change) => prop_assert_eq!(found, change, "{} after {}", hours, between),
                        // Later than this test looks.
                        None => prop_assert!(found >= first.plus_ms(3 * DAY_MS), "{} after {}", hours, between),
                    }
                }
                next[usize::from(inside)] = Some(minute);
            }
        }

    }
}
