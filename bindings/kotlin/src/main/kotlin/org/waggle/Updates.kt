// How the core's views become flows.
//
// A view is pulled: `next(after)` waits for a version newer than `after`. A flow is a loop of pulls with a view of its own, which it
// cancels and gives back in its termination hook, however it ends. Nothing is queued on either side: a slow collector gets the newest
// state, and one that was cancelled and collects again starts from the newest state, so no change can be lost.
package org.waggle

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import org.waggle.ffi.SidebarChange
import org.waggle.ffi.SidebarRows
import org.waggle.ffi.SidebarUpdate
import org.waggle.ffi.TimelineChange
import org.waggle.ffi.TimelineRows
import org.waggle.ffi.TimelineUpdate
import org.waggle.ffi.ViewException

/**
 * A view of the generated code, whatever its type.
 *
 * @property next waits for a version newer than the one given; 0 takes everything.
 * @property end cancels the view and gives it back.
 */
internal class Pull<out U>(val next: suspend (ULong) -> U, val end: () -> Unit)

/** What one update means: the value to show and its version, or nothing when it does not fit what is held. */
internal class Step<out T>(val version: ULong, val value: T)

/**
 * A cold flow over a view. [open] makes the view, once for each collection; [fold] takes what was shown last and an update. A fold that
 * answers nothing makes the flow ask for everything again. `Closed` ends the flow in order.
 */
internal fun <U, T : Any> updates(open: suspend () -> Pull<U>, fold: (T?, U) -> Step<T>?): Flow<T> = flow {
    val pull = try {
        open()
    } catch (_: SessionException.Closed) {
        return@flow
    }
    try {
        var shown: T? = null
        var after = 0UL
        while (true) {
            val update = try {
                pull.next(after)
            } catch (_: ViewException.Closed) {
                break
            } catch (e: ViewException.Failed) {
                throw e.lifted()
            }
            val step = fold(shown, update)
            shown = step?.value
            after = step?.version ?: 0UL
            if (step != null) emit(step.value)
        }
    } finally {
        pull.end()
    }
}

/** Rows after some steps; nothing when a step does not fit. */
private inline fun <R> List<R>.edited(steps: MutableList<R>.() -> Unit): List<R>? = try {
    ArrayList(this).apply(steps)
} catch (_: IndexOutOfBoundsException) {
    null
}

/** The sidebar's rows after an update of [held]; nothing when the update does not fit them. */
internal fun SidebarRows.applyTo(held: List<SidebarRow>): List<SidebarRow>? = when (this) {
    is SidebarRows.Reset -> rows
    is SidebarRows.Changes -> held.edited {
        for (change in changes) when (change) {
            is SidebarChange.Insert -> add(change.at.toInt(), change.row)
            is SidebarChange.Update -> set(change.at.toInt(), change.row)
            is SidebarChange.Remove -> removeAt(change.at.toInt())
        }
    }
}

/** A timeline's rows after an update of [held]; nothing when the update does not fit them. */
internal fun TimelineRows.applyTo(held: List<TimelineRow>): List<TimelineRow>? = when (this) {
    is TimelineRows.Reset -> rows
    is TimelineRows.Changes -> held.edited {
        for (change in changes) when (change) {
            is TimelineChange.Insert -> add(change.at.toInt(), change.row)
            is TimelineChange.Update -> set(change.at.toInt(), change.row)
            is TimelineChange.Remove -> removeAt(change.at.toInt())
        }
    }
}

internal fun sidebarAfter(shown: Sidebar?, update: SidebarUpdate): Step<Sidebar>? =
    update.rows.applyTo(shown?.rows.orEmpty())?.let { Step(update.version, Sidebar(it, update.cached, update.version)) }

internal fun timelineAfter(shown: TimelineSnapshot?, update: TimelineUpdate): Step<TimelineSnapshot>? =
    update.rows.applyTo(shown?.rows.orEmpty())?.let {
        Step(update.version, TimelineSnapshot(it, update.status, update.version))
    }
