package org.waggle.kit

import java.time.Instant
import java.time.LocalDate
import java.time.ZoneOffset
import java.time.format.DateTimeFormatter
import java.time.format.FormatStyle
import java.util.Locale
import org.waggle.EventId
import org.waggle.More
import org.waggle.TimelineRow
import org.waggle.TimelineStatus

/** What a timeline's list is made of. Each has a [key] that stays with it as the list changes. */
sealed interface TimelineItem {
    /** Unique within the list. */
    val key: String

    /** A message or what else the core made a row of. */
    data class Message(val row: TimelineRow) : TimelineItem {
        override val key: String get() = row.id
    }

    /** A day begins. */
    data class Day(val date: LocalDate) : TimelineItem {
        override val key: String get() = "day $date"
    }

    /** The first row that was unread when the screen opened is below. */
    data object FirstUnread : TimelineItem {
        override val key: String get() = "first unread"
    }

    /** Rows may be missing here. */
    data object Gap : TimelineItem {
        override val key: String get() = "gap"
    }

    /** The list goes on: older rows of a channel, further ones of a thread. */
    data object Continues : TimelineItem {
        override val key: String get() = "continues"
    }

    /** Whether it goes on is not known here. */
    data object Uncertain : TimelineItem {
        override val key: String get() = "uncertain"
    }

    /** A channel's first word. */
    data object Beginning : TimelineItem {
        override val key: String get() = "beginning"
    }
}

/** Items of a timeline, oldest first. Nothing is decided here: rows and status say where each mark belongs. */
fun timelineItems(rows: List<TimelineRow>, status: TimelineStatus, offset: ZoneOffset): List<TimelineItem> {
    val items = ArrayList<TimelineItem>(rows.size + 8)
    val thread = status.root != null
    val more = when (status.more) {
        More.YES -> TimelineItem.Continues
        More.UNKNOWN -> TimelineItem.Uncertain
        More.NO -> TimelineItem.Beginning.takeUnless { thread || rows.isEmpty() }
    }
    if (!thread && more != null) items.add(more)
    rows.forEachIndexed { index, row ->
        if (status.gap?.toInt() == index) items.add(TimelineItem.Gap)
        if (row.startsDay) items.add(TimelineItem.Day(dayOf(row, offset)))
        if (row.id == status.firstUnread) items.add(TimelineItem.FirstUnread)
        items.add(TimelineItem.Message(row))
    }
    if (thread && more != null) items.add(more)
    return items.distinctBy { it.key }
}

private fun dayOf(row: TimelineRow, offset: ZoneOffset): LocalDate =
    Instant.ofEpochSecond(row.createdAt.toLong()).atOffset(offset).toLocalDate()

/** The newest row of a list that has all newer ones; for a thread that goes on, its newest row is not there yet. */
fun newestOf(rows: List<TimelineRow>, status: TimelineStatus): EventId? =
    rows.lastOrNull()?.id?.takeUnless { status.root != null && status.more == More.YES }

/** How times and days are written, for one place and language. */
class Formats(private val locale: Locale, val offset: ZoneOffset) {
    private val time = DateTimeFormatter.ofLocalizedTime(FormatStyle.SHORT).withLocale(locale)
    private val date = DateTimeFormatter.ofLocalizedDate(FormatStyle.FULL).withLocale(locale)
    private val stamp = DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT)

    /** Time of day of a moment in seconds since 1970. */
    fun time(seconds: ULong): String = time.format(Instant.ofEpochSecond(seconds.toLong()).atOffset(offset))

    /** A day in words. */
    fun day(day: LocalDate): String = date.format(day)

    /** Time of day to the second, for logs. */
    fun stamp(seconds: ULong): String = stamp.format(Instant.ofEpochSecond(seconds.toLong()).atOffset(offset))

    /** A number in words of the language. */
    fun count(count: UInt): String = String.format(locale, "%,d", count.toLong())

    /** Whether [day] is the day of [now], or the one before. */
    fun near(day: LocalDate, now: Instant): Near {
        val today = now.atOffset(offset).toLocalDate()
        return when (day) {
            today -> Near.TODAY
            today.minusDays(1) -> Near.YESTERDAY
            else -> Near.NEITHER
        }
    }

    /** Days that have a name. */
    enum class Near { TODAY, YESTERDAY, NEITHER }
}

/** First letters of up to two words of a name, for a round picture. */
fun initials(name: String): String =
    name.split(' ').filter { it.isNotBlank() }.take(2).joinToString("") { word ->
        String(Character.toChars(word.trimStart('@', '#').ifEmpty { word }.codePointAt(0))).uppercase()
    }
