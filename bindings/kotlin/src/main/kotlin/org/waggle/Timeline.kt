package org.waggle

import java.util.concurrent.atomic.AtomicBoolean
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.withContext
import org.waggle.ffi.ReadingSurface as FfiReadingSurface
import org.waggle.ffi.SessionException as FfiSessionException
import org.waggle.ffi.Timeline as FfiTimeline

/** An open timeline of a channel or a thread. Obtained from [Session.timeline] and [Session.thread]. */
public class Timeline internal constructor(inner: FfiTimeline) : WaggleTimeline {
    private val held = Held(inner) { SessionException.Closed(it) }

    // For looks without waiting.
    private val view = inner.view()
    private val released = AtomicBoolean()

    override val rows: Flow<TimelineSnapshot> = updates(
        open = {
            val view = held.call { view() }
            Pull(view::next) { view.run { cancel(); destroy() } }
        },
        fold = ::timelineAfter,
    )

    override fun now(): TimelineSnapshot = held.call {
        val now = view.current()
        TimelineSnapshot(now.rows.applyTo(emptyList()).orEmpty(), now.status, now.version)
    }

    override suspend fun loadOlder(): Unit = held.call { loadOlder() }

    override suspend fun jumpToFirstUnread(): Boolean = held.call { jumpToFirstUnread() }

    override suspend fun close(): Unit = withContext(NonCancellable) {
        if (held.isReleased) return@withContext
        try {
            held.call { shutDown() }
        } catch (_: SessionException.Closed) {
            // Its session ended, and it with it.
        } finally {
            release()
        }
    }

    private suspend fun release() {
        if (!released.compareAndSet(false, true)) return
        view.cancel()
        held.release(wordsOfTheEnd { view.next(0UL) })
        view.destroy()
    }
}

/** Where messages are read. Obtained from [Session.surface]. */
public class ReadingSurface internal constructor(private val inner: FfiReadingSurface) : WaggleSurface {
    private val closed = AtomicBoolean()

    override fun report(viewport: Viewport) {
        if (closed.get()) return
        try {
            inner.report(viewport)
        } catch (e: FfiSessionException) {
            throw e.lifted()
        } catch (e: IllegalStateException) {
            // Closed between the look and the call.
            if (!closed.get()) throw e
        }
    }

    override fun close() {
        if (!closed.compareAndSet(false, true)) return
        try {
            inner.shutDown()
        } finally {
            inner.destroy()
        }
    }
}
