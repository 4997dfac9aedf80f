// P16: a 50-row page across the FFI, in Kotlin. `cargo xtask bench` runs it (`mvn -P bench`), against a release library.
//
//     Bench F1
//
// F1 is the time of F1(123) in microseconds, as the ratio bench measures it. The page is read by `WaggleTimeline.now()`, which crosses once.
// Rounds are timed by the thread's CPU clock, after a warm-up, and the fastest counts, as for F1. Prints a line
// `P16 kotlin RATIO LIMIT`, and ends with 1 when the ratio is past its limit.
package org.waggle.bench

import java.lang.management.ManagementFactory
import java.nio.file.Files
import java.util.Locale
import kotlin.system.exitProcess
import kotlinx.coroutines.runBlocking
import org.waggle.WaggleTimeline
import org.waggle.support.TestRelay
import org.waggle.support.readyDevice
import org.waggle.use

private const val LIMIT = 0.10
private const val ROWS = 50
private const val WARM_UP = 5_000
private const val ROUNDS = 5_000

/** Measures and prints. */
fun main(arguments: Array<String>) {
    val f1 = requireNotNull(arguments.singleOrNull()?.toDoubleOrNull()?.takeIf { it > 0 }) {
        "usage: Bench F1, the time of F1(123) in microseconds"
    }
    val page = page()
    val past = page / f1 > LIMIT
    println(String.format(Locale.ROOT, "P16 kotlin %.3f %.2f%s", page / f1, LIMIT, if (past) "  PAST THE LIMIT" else ""))
    exitProcess(if (past) 1 else 0)
}

/** Microseconds of the fastest reading of a page. */
private fun page(): Double = runBlocking {
    val folder = Files.createTempDirectory("waggle-bench")
    try {
        TestRelay.start().use { relay ->
            relay.readyDevice(folder) { session ->
                session.timeline(relay.channel("apiary-log"), pageSize = ROWS).use { timeline ->
                    check(timeline.now().rows.size == ROWS) { "the page has ${timeline.now().rows.size} rows, not $ROWS" }
                    fastest(WARM_UP, timeline)
                    fastest(ROUNDS, timeline)
                }
            }
        }
    } finally {
        folder.toFile().deleteRecursively()
    }
}

private fun fastest(rounds: Int, timeline: WaggleTimeline): Double {
    val clock = ManagementFactory.getThreadMXBean()
    var fastest = Long.MAX_VALUE
    var seen = 0
    repeat(rounds) {
        val before = clock.currentThreadCpuTime
        seen += timeline.now().rows.size
        fastest = minOf(fastest, clock.currentThreadCpuTime - before)
    }
    check(seen == rounds * ROWS) { "the page changed while it was measured" }
    return fastest / 1_000.0
}
