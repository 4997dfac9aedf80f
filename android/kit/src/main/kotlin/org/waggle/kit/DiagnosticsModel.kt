package org.waggle.kit

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.launch
import org.waggle.LogLine

/** The newest lines of the core's log, which holds no content, ids, keys or hosts. Collects from [start] to [stop]. */
class LogModel(private val lines: Flow<LogLine>, private val scope: CoroutineScope) {
    private val kept = MutableStateFlow<List<LogLine>>(emptyList())
    private var collecting: Job? = null

    /** Newest first. */
    val newest: StateFlow<List<LogLine>> = kept

    /** Begins to collect. */
    fun start() {
        if (collecting?.isActive == true) return
        kept.value = emptyList()
        collecting = scope.launch { lines.collect { line -> kept.update { (listOf(line) + it).take(LIMIT) } } }
    }

    /** Ends that. */
    fun stop() {
        collecting?.cancel()
    }

    private companion object {
        /** As many as a person scrolls through. */
        const val LIMIT = 200
    }
}
