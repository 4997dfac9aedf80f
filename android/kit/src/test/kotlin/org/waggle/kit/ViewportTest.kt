package org.waggle.kit

import java.io.File
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import org.waggle.Viewport
import org.waggle.WaggleSurface
import org.waggle.fakes.fakeId

/**
 * Recorded scrolls, as `traces/NAME.trace`: what happens, and after `>` what has to be reported for it. A step without such a line must
 * report nothing. A row is `ID@OFFSET+SIZE` as the list measured it, and `-` stands for what is no message.
 */
class ViewportTest {
    private val said = ArrayList<String>()
    private var reporter = ViewportReporter()
    private var reversed = false
    private var start = 0
    private var end = 0

    @Test
    fun `every trace reports what it says and nothing else`() {
        val traces = File(javaClass.getResource("/traces")!!.toURI()).listFiles()!!.sorted()
        assertTrue("${traces.size} traces", traces.size >= 6)
        traces.forEach { play(it) }
    }

    private fun play(trace: File) {
        reporter = ViewportReporter()
        said.clear()
        val lines = trace.readLines().filter { it.isNotBlank() && !it.startsWith("#") }
        var at = 0
        while (at < lines.size) {
            val step = lines[at++]
            carryOut(step)
            val expected = lines.drop(at).takeWhile { it.startsWith("> ") }.map { it.removePrefix("> ") }
            at += expected.size
            assertEquals("${trace.name}: $step", expected, said.toList())
            said.clear()
        }
    }

    private fun carryOut(step: String) {
        val words = step.split(' ')
        when (words[0]) {
            "list" -> {
                reversed = words[1] == "reversed"
                start = words[2].removePrefix("start=").toInt()
                end = words[3].removePrefix("end=").toInt()
            }
            "attach" -> reporter.attach(Heard())
            "front" -> reporter.active(true)
            "cover" -> reporter.active(false)
            "leave" -> reporter.detach()
            "frame" -> reporter.layout(layout(words))
            "repeat" -> repeat(words[1].toInt()) { reporter.layout(layout(words.drop(2))) }
            else -> error("no such step: $step")
        }
    }

    private fun layout(words: List<String>): ListLayout {
        val items = words.drop(5).map { word ->
            val (id, place) = word.split('@')
            val (offset, size) = place.split('+')
            MeasuredItem(id.takeIf { it != "-" }, offset.toInt(), size.toInt())
        }
        val rows = placedRows(ListMeasure(items, start, end, reversed))
        val newest = words[3].removePrefix("newest=").takeIf { it != "-" }
        return ListLayout(rows, end - start, words[2] == "end", newest, words[1] == "still")
    }

    private inner class Heard : WaggleSurface {
        override fun report(viewport: Viewport) {
            val words = listOfNotNull(
                if (viewport.active) "active" else "inactive",
                if (viewport.settled) "settled" else "moving",
                viewport.visible.takeIf { it.isNotEmpty() }?.joinToString(",", "visible="),
                viewport.bottom?.let { "bottom=$it" },
            )
            said.add(words.joinToString(" "))
        }

        override fun close() {
            said.add("closed")
        }
    }

    @Test
    fun `a surface that comes after the end is closed`() {
        reporter.close()
        reporter.attach(Heard())
        assertEquals(listOf("closed"), said)
    }

    @Test
    fun `moving rows are never visible, and neither are those of a covered list`() {
        val rows = listOf(PlacedRow(fakeId(1), 0, 100))
        val still = ListLayout(rows, 100, atEnd = true, newest = fakeId(1), settled = true)
        assertEquals(Viewport(true, true, listOf(fakeId(1)), fakeId(1)), viewportOf(still, active = true))
        assertEquals(Viewport(false, true, emptyList(), null), viewportOf(still, active = false))
        assertEquals(Viewport(true, false, emptyList(), null), viewportOf(still.copy(settled = false), active = true))
    }
}
