//! `Retry-After` (RFC 9110, 10.2.3): seconds, or a date in any of the three forms of 5.6.7.

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// How long to wait from `now` on; nothing for a date that is over. `None` where it cannot be read.
pub(super) fn read(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are a long time all the same.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Duration::from_secs(date(text, now.as_secs())?).saturating_sub(now))
}

/// Seconds since 1970 of a date in GMT. The names of days say nothing that the rest does not.
fn date(text: &str, now: u64) -> Option<u64> {
    let parts: Vec<&str> = text.split([' ', '-', ',']).filter(|part| !part.is_empty()).take(7).collect();
    let (day, month, year, time) = match *parts.as_slice() {
        // `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`
        [_, day, month, year, time, "GMT"] => (day, month, year, time),
        // `Sun Nov  6 08:49:37 1994`
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let number = |text: &str, most: u64| text.parse::<u64>().ok().filter(|number| *number <= most);
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? as u64 + 1;
    let year = match (number(year, 9999)?, year.len()) {
        // Of two digits, the year that is at most 50 years ahead.
        (short, 2) => {
            let this = 1970 + now / 31_556_952;
            let year = this - this % 100 + short;
            if year > this + 50 { year - 100 } else { year }
        }
        (year, 4) => year,
        _ => return None,
    };
    let day = number(day, 31)?.checked_sub(1)?;
    let mut clock = time.splitn(3, ':');
    let mut next = |most| number(clock.next()?, most);
    // A leap second is the last one that a minute has.
    let (hours, minutes, seconds) = (next(23)?, next(59)?, next(60)?.min(59));
    // Years that begin in March end with the day that not all of them have.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day;
    // 1 March of the year 0 is 719,468 days before 1970.
    Some(days.checked_sub(719_468)? * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates() {
        // 6 November 1994, 08:49:37 GMT.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (text, expected) in [
            ("0", Some(0)),
            (" 7 ", Some(7)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(60)),
            ("Sun Nov  6 09:49:37 1994", Some(3600)),
            ("Mon, 07 Nov 1994 08:49:37 GMT", Some(86_400)),
            ("Wed, 01 Mar 1995 08:49:37 GMT", Some(115 * 86_400)),
            ("Thu, 29 Feb 1996 08:49:37 GMT", Some(480 * 86_400)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 0000 08:49:37 GMT", None),
            ("Sun, 00 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 24:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 99999999 08:49:37 GMT", None),
            ("soon", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
        ] {
            assert_eq!(read(text, now), expected.map(Duration::from_secs), "{text}");
        }
    }
}
