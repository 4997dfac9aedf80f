package org.waggle

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import org.waggle.ffi.ClientException as FfiClientException
import org.waggle.ffi.LogBatch
import org.waggle.ffi.LogSink as FfiLogSink
import org.waggle.ffi.LogStream
import org.waggle.ffi.setLogSink
import org.waggle.ffi.startLogging

/** Takes lines as they come. Called from Waggle's threads; must not wait and must not call Waggle. What it throws is dropped. */
public fun interface LogSink {
    /** One line. */
    public fun log(line: LogLine)
}

/**
 * Lines that came together.
 *
 * @property lines oldest first.
 * @property missed lines that were dropped before, because the collector was too slow.
 */
public data class LogLines(val lines: List<LogLine>, val missed: Long)

/**
 * The process's log. The core logs shapes (counts, kinds, durations, codes), never content, ids, keys or hosts, so lines may be shown and
 * shared. On Android lines also go to the system's log, under the tag `waggle`.
 */
public object WaggleLog {
    /**
     * Starts logging for the whole process. [levels] says how much of what, as in `info,waggle::session=debug`. Fails with
     * [ClientException.InvalidArgument] for levels that are none, and with [ClientException.Other] (`busy`) when the process logs already.
     */
    public fun start(levels: String) {
        try {
            startLogging(levels)
        } catch (e: FfiClientException) {
            throw e.lifted()
        }
    }

    /** Lines as they come, beginning with the newest thousand. Ends only with its collector. */
    public val batches: Flow<LogLines> = updates<LogBatch, LogLines>(
        open = {
            val stream = LogStream()
            Pull(stream::next) { stream.run { cancel(); destroy() } }
        },
        fold = { _, batch -> Step(batch.version, LogLines(batch.lines, batch.missed.toLong())) },
    )

    /** As [batches], line by line and without a word about missed ones. */
    public val lines: Flow<LogLine> = flow { batches.collect { batch -> batch.lines.forEach { emit(it) } } }

    /** Sends lines to a sink as well, in place of an earlier one; null ends that. */
    public fun sink(sink: LogSink?) {
        setLogSink(sink?.let(::LoweredSink))
    }
}

/** An app's sink as the generated code wants it. A failure over there would end whatever was logging. */
internal class LoweredSink(private val sink: LogSink) : FfiLogSink {
    override fun log(line: LogLine) {
        runCatching { sink.log(line) }
    }
}
