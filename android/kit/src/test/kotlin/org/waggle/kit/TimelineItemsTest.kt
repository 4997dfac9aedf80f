package org.waggle.kit

import java.time.Instant
import java.time.LocalDate
import java.time.ZoneOffset
import java.util.Locale
import org.junit.Assert.assertEquals
import org.junit.Assert.assertNull
import org.junit.Test
import org.waggle.More
import org.waggle.fakes.fakeId
import org.waggle.fakes.fakeTimelineRow
import org.waggle.fakes.fakeTimelineStatus

class TimelineItemsTest {
    private val rows = (1..3).map { fakeTimelineRow(fakeId(it), startsDay = it == 1) }

    private fun keys(items: List<TimelineItem>) = items.map { if (it is TimelineItem.Message) it.row.id.takeLast(1) else it.key.substringBefore(' ') }

    @Test
    fun `marks stand where rows and status say`() {
        val status = fakeTimelineStatus(more = More.NO, gap = 2, firstUnread = fakeId(3))
        assertEquals(listOf("beginning", "day", "1", "2", "gap", "first", "3"), keys(timelineItems(rows, status, ZoneOffset.UTC)))
    }

    @Test
    fun `what goes on is said at the end where it does`() {
        val channel = fakeTimelineStatus(more = More.YES)
        assertEquals("continues", keys(timelineItems(rows, channel, ZoneOffset.UTC)).first())
        val thread = fakeTimelineStatus(root = fakeId(1), more = More.YES)
        assertEquals("continues", keys(timelineItems(rows, thread, ZoneOffset.UTC)).last())
        val unknown = fakeTimelineStatus(more = More.UNKNOWN)
        assertEquals("uncertain", keys(timelineItems(rows, unknown, ZoneOffset.UTC)).first())
    }

    @Test
    fun `an empty channel has no beginning to show`() {
        assertEquals(emptyList<TimelineItem>(), timelineItems(emptyList(), fakeTimelineStatus(), ZoneOffset.UTC))
    }

    @Test
    fun `a thread's newest row is known once all of it is there`() {
        assertEquals(fakeId(3), newestOf(rows, fakeTimelineStatus(more = More.YES)))
        assertEquals(fakeId(3), newestOf(rows, fakeTimelineStatus(root = fakeId(1))))
        assertNull(newestOf(rows, fakeTimelineStatus(root = fakeId(1), more = More.YES)))
        assertNull(newestOf(emptyList(), fakeTimelineStatus()))
    }

    @Test
    fun `a day is that of the time zone the timeline was opened with`() {
        val late = fakeTimelineRow(createdAt = Instant.parse("2026-03-01T23:30:00Z").epochSecond, startsDay = true)
        val day = { offset: ZoneOffset -> (timelineItems(listOf(late), fakeTimelineStatus(), offset)[1] as TimelineItem.Day).date }
        assertEquals(LocalDate.of(2026, 3, 1), day(ZoneOffset.UTC))
        assertEquals(LocalDate.of(2026, 3, 2), day(ZoneOffset.ofHours(1)))
    }

    @Test
    fun `times and names as people write them`() {
        val formats = Formats(Locale.GERMANY, ZoneOffset.ofHours(2))
        assertEquals("14:05", formats.time(Instant.parse("2026-03-01T12:05:00Z").epochSecond.toULong()))
        assertEquals("1.234", formats.count(1234U))
        val now = Instant.parse("2026-03-01T22:30:00Z")
        assertEquals(Formats.Near.TODAY, formats.near(LocalDate.of(2026, 3, 2), now))
        assertEquals(Formats.Near.YESTERDAY, formats.near(LocalDate.of(2026, 3, 1), now))
        assertEquals(Formats.Near.NEITHER, formats.near(LocalDate.of(2026, 2, 28), now))
        assertEquals(listOf("MK", "🐝", "R"), listOf("mara kent jr", "🐝", "@robin").map(::initials))
    }
}
