// From where rows lie to what is reported as visible.
//
// A list says after each layout where its rows are. `viewportOf` makes a report of that: which rows show in full, in order, and the newest row
// if its lower edge shows at the list's end. `ViewportReporter` hands a report on when it differs from the last one, and never otherwise: each
// report restarts the core's dwell. While nothing may be read (not in front, or still moving) what shows is of no interest, so scrolling costs
// one report when it begins and one when it ends. What being visible leads to is the core's business.
package org.waggle.kit

import org.waggle.EventId
import org.waggle.Viewport
import org.waggle.WaggleSurface

/**
 * Where one row lies, in pixels from the upper edge of the list's visible part.
 *
 * @property id the message; null for what is none: a separator, a mark, a progress row.
 */
data class PlacedRow(val id: EventId?, val top: Int, val bottom: Int)

/**
 * A list after one layout.
 *
 * @property rows top to bottom, partly visible and merely laid out ones included.
 * @property height of the visible part.
 * @property atEnd the list cannot be scrolled further to newer rows.
 * @property newest the newest row there is; null when newer ones are not loaded.
 * @property settled nothing moves, and the first position has been taken.
 */
data class ListLayout(
    val rows: List<PlacedRow>,
    val height: Int,
    val atEnd: Boolean,
    val newest: EventId?,
    val settled: Boolean,
)

/** One item as a lazy list measured it: [offset] from where the list begins, which is its lower edge when it is [ListMeasure.reversed]. */
data class MeasuredItem(val id: EventId?, val offset: Int, val size: Int)

/**
 * What a lazy list says about itself. Padding belongs to its visible part.
 *
 * @property start offset of the edge the list begins at; negative with padding.
 * @property end offset of the other edge.
 */
data class ListMeasure(val items: List<MeasuredItem>, val start: Int, val end: Int, val reversed: Boolean)

/** The rows of a lazy list from top to bottom, by their distance from the upper edge. */
fun placedRows(measure: ListMeasure): List<PlacedRow> {
    val placed = measure.items.map { item ->
        val from = item.offset - measure.start
        val to = from + item.size
        val height = measure.end - measure.start
        if (measure.reversed) PlacedRow(item.id, height - to, height - from) else PlacedRow(item.id, from, to)
    }
    return placed.sortedBy { it.top }
}

/** What a list shows. */
fun viewportOf(layout: ListLayout, active: Boolean): Viewport {
    if (!active || !layout.settled) return Viewport(active, layout.settled, emptyList(), null)
    val visible = layout.rows.filter { it.bottom > it.top && it.top >= 0 && it.bottom <= layout.height }.mapNotNull { it.id }
    val newest = layout.rows.find { it.id != null && it.id == layout.newest }
    val bottom = newest?.takeIf { layout.atEnd && it.bottom > it.top && it.bottom > 0 && it.bottom <= layout.height }
    return Viewport(true, true, visible, bottom?.id)
}

/** Tells a surface what its list shows, once for each change. For one thread, the main one. */
class ViewportReporter {
    private var surface: WaggleSurface? = null
    private var layout: ListLayout? = null
    private var active = false
    private var told: Viewport? = null
    private var ended = false

    /** Whether there is a surface to tell. */
    val isAttached: Boolean get() = surface != null

    /** Takes over a surface. One that comes too late is closed. */
    fun attach(surface: WaggleSurface) {
        if (ended) return surface.close()
        detach()
        this.surface = surface
        tell()
    }

    /** The list was laid out. */
    fun layout(layout: ListLayout) {
        if (layout == this.layout) return
        this.layout = layout
        tell()
    }

    /** Whether the list is in front, and the person can touch it: no dialog, menu or other screen over it. */
    fun active(active: Boolean) {
        if (active == this.active) return
        this.active = active
        tell()
    }

    /** Ends the surface at once: the screen goes, or the app. Another one may be attached. */
    fun detach() {
        surface?.close()
        surface = null
        told = null
    }

    /** Ends the surface for good. */
    fun close() {
        ended = true
        detach()
    }

    private fun tell() {
        val surface = surface ?: return
        val viewport = viewportOf(layout ?: return, active)
        // A surface that was told nothing knows of nothing that could be read.
        if (viewport == told || (told == null && !viewport.active)) return
        told = viewport
        surface.report(viewport)
    }
}
