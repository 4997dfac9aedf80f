package org.waggle

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.test.runTest
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.waggle.ffi.Retry
import org.waggle.ffi.SidebarChange
import org.waggle.ffi.SidebarRows
import org.waggle.ffi.SidebarUpdate
import org.waggle.ffi.TimelineChange
import org.waggle.ffi.TimelineRows
import org.waggle.ffi.ViewException

/** How pulled updates become flows. Needs no library. */
class UpdatesTest {
    private val failure = Failure("closed", Retry.Never, "Closed.")

    private fun row(name: String) = SidebarRow(
        name, name, SidebarSection.CHANNELS, ChannelType.STREAM, emptyList(), false, false, false, false, 0U, null, null, Manual.NONE,
        name, true, false, false, null,
    )

    private fun line(id: String, text: String = id) = TimelineRow(
        id, 1UL, "author", "Author", RowKind.MESSAGE, text, false, false, false, false, null, 0U, false, emptyList(), false, false,
    )

    @Test
    fun `steps are applied in order`() {
        val held = listOf("a", "b", "c").map(::row)
        val steps = SidebarRows.Changes(
            listOf(SidebarChange.Remove(1U), SidebarChange.Insert(0U, row("x")), SidebarChange.Insert(3U, row("y")), SidebarChange.Update(1U, row("z"))),
        )
        assertEquals(listOf("x", "z", "c", "y"), steps.applyTo(held)?.map { it.name })
        assertEquals(listOf("a", "b", "c"), held.map { it.name })
        assertEquals(listOf("n"), SidebarRows.Reset(listOf(row("n"))).applyTo(held)?.map { it.name })
        val lines = TimelineRows.Changes(
            listOf(TimelineChange.Insert(1U, line("2")), TimelineChange.Update(0U, line("1", "new")), TimelineChange.Remove(2U)),
        )
        assertEquals(listOf("new", "2"), lines.applyTo(listOf(line("1"), line("3")))?.map { it.text })
    }

    @Test
    fun `steps that do not fit are refused, not applied in part`() {
        val held = listOf(row("a"))
        for (step in listOf(SidebarChange.Remove(1U), SidebarChange.Insert(2U, row("x")), SidebarChange.Update(1U, row("x")), SidebarChange.Remove(UInt.MAX_VALUE))) {
            assertNull(SidebarRows.Changes(listOf(SidebarChange.Update(0U, row("b")), step)).applyTo(held))
        }
        assertEquals("a", held.single().name)
        for (step in listOf(TimelineChange.Remove(1U), TimelineChange.Insert(2U, line("x")), TimelineChange.Update(1U, line("x")))) {
            assertNull(TimelineRows.Changes(listOf(step)).applyTo(listOf(line("1"))))
        }
    }

    @Test
    fun `an update that does not fit makes the flow ask for everything`() = runTest {
        val asked = mutableListOf<ULong>()
        var ended = 0
        val flow = updates(
            open = {
                Pull<SidebarUpdate>(
                    next = { after ->
                        asked += after
                        when (asked.size) {
                            1 -> SidebarUpdate(5UL, false, SidebarRows.Reset(listOf(row("a"))))
                            2 -> SidebarUpdate(6UL, false, SidebarRows.Changes(listOf(SidebarChange.Remove(9U))))
                            3 -> SidebarUpdate(7UL, true, SidebarRows.Reset(listOf(row("b"))))
                            else -> throw ViewException.Closed(failure)
                        }
                    },
                    end = { ended++ },
                )
            },
            fold = ::sidebarAfter,
        )
        assertEquals(listOf(5UL to "a", 7UL to "b"), flow.toList().map { it.version to it.rows.single().name })
        assertEquals(listOf(0UL, 5UL, 0UL, 7UL), asked)
        assertEquals(1, ended)
    }

    @Test
    fun `each collection has a view of its own and gives it back however it ends`() = runTest {
        var opened = 0
        var ended = 0
        val waiting = CompletableDeferred<Unit>()
        val flow = updates<ULong, ULong>(
            open = {
                opened++
                Pull<ULong>(
                    next = { after ->
                        if (after == 3UL) {
                            waiting.complete(Unit)
                            awaitCancellation()
                        }
                        after + 1UL
                    },
                    end = { ended++ },
                )
            },
            fold = { _, update -> Step(update, update) },
        )
        assertEquals(listOf(1UL, 2UL), flow.take(2).toList())
        assertEquals(1 to 1, opened to ended)
        val collector = launch { flow.collect { } }
        waiting.await()
        collector.cancel()
        collector.join()
        assertEquals(2 to 2, opened to ended)
        failure<IllegalStateException> { flow.collect { error("the collector's own") } }
        assertEquals(3 to 3, opened to ended)
    }

    @Test
    fun `a fault inside fails the flow, the end of a session does not`() = runTest {
        var ended = 0
        val faulty = updates<ULong, ULong>(
            open = { Pull<ULong>({ throw ViewException.Failed(failure) }, { ended++ }) },
            fold = { _, update -> Step(update, update) },
        )
        failure<SessionException.Failed> { faulty.toList() }
        assertEquals(1, ended)
        val closed = updates<ULong, ULong>(open = { throw SessionException.Closed(failure) }, fold = { _, _ -> null })
        assertTrue(closed.toList().isEmpty())
    }
}
