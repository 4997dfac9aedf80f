//! Days and times for people, from Unix seconds and an offset from UTC. The reader needs no time zone data beyond that.

const DAY: i64 = 86_400;
const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn local(seconds: u64, utc_offset: i32) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_add(i64::from(utc_offset))
}

/// `14:02`.
pub fn time(seconds: u64, utc_offset: i32) -> String {
    let of_day = local(seconds, utc_offset).rem_euclid(DAY);
    format!("{:02}:{:02}", of_day / 3600, of_day / 60 % 60)
}

/// `14:02` of today, `1 Jul 14:02` of another day.
pub fn moment(seconds: u64, utc_offset: i32, now: u64) -> String {
    let days = |at| local(at, utc_offset).div_euclid(DAY);
    let time = time(seconds, utc_offset);
    if days(seconds) == days(now) {
        return time;
    }
    let (_, month, day) = civil(days(seconds));
    let month = MONTHS.get(month - 1).and_then(|m| m.get(..3)).unwrap_or("");
    format!("{day} {month} {time}")
}

/// `Thursday, 3 July`, with the year where it is not the one of `now`.
pub fn day(seconds: u64, utc_offset: i32, now: u64) -> String {
    let days = local(seconds, utc_offset).div_euclid(DAY);
    let (year, month, day) = civil(days);
    let weekday = usize::try_from(days.rem_euclid(7)).ok().and_then(|i| WEEKDAYS.get(i)).copied().unwrap_or("");
    let month = MONTHS.get(month - 1).copied().unwrap_or("");
    if civil(local(now, utc_offset).div_euclid(DAY)).0 == year {
        format!("{weekday}, {day} {month}")
    } else {
        format!("{weekday}, {day} {month} {year}")
    }
}

/// Year, month (from 1) and day of a day count since 1970. The year is taken to begin in March, so that the leap day comes last.
fn civil(days: i64) -> (i64, usize, i64) {
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, usize::try_from(month).unwrap_or(1), day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_known_moments() {
        assert_eq!(day(0, 0, 0), "Thursday, 1 January");
        assert_eq!(day(1_751_500_000, 0, 1_751_500_000), "Wednesday, 2 July");
        assert_eq!(day(1_709_164_800, 0, 1_751_500_000), "Thursday, 29 February 2024");
        assert_eq!(moment(1_751_500_000, 0, 1_751_500_100), "23:46");
        assert_eq!(moment(1_751_500_000, 0, 1_751_600_000), "2 Jul 23:46");
        assert_eq!(time(1_751_500_000, 0), "23:46");
        assert_eq!(time(1_751_500_000, 7200), "01:46");
        assert_eq!(day(1_751_500_000, 7200, 1_751_500_000), "Thursday, 3 July");
    }

    #[test]
    fn the_end_of_time_is_a_date_too() {
        assert!(!day(u64::MAX, i32::MAX, 0).is_empty());
    }
}
