package org.waggle

import java.io.File
import java.nio.file.Files
import java.nio.file.Path
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import org.waggle.support.RelayTest
import org.waggle.support.config
import org.waggle.support.live
import org.waggle.support.readyDevice

/** What is taken is given back: files, locks, memory, threads. */
class ResourcesTest : RelayTest() {
    @TempDir
    lateinit var folder: Path

    @Test
    fun `close releases every file and lock, of a session and of a client`() = live {
        val waggle = Waggle.open(config(folder), KeyStorage.MEMORY)
        waggle.signIn(relay.nsec)
        val first = waggle.session(relay.host)
        first.start()
        first.ensure()
        first.timeline(relay.channel("general"))
        assertTrue(openFiles(folder).isNotEmpty())
        first.close()
        assertEquals(emptyList<String>(), openFiles(folder))
        val second = waggle.session(relay.host)
        second.start()
        second.timeline(relay.channel("general"))
        assertTrue(openFiles(folder).isNotEmpty())
        waggle.close()
        assertEquals(emptyList<String>(), openFiles(folder))
        // Nothing holds the folder: another client opens it at once, and the folder can go.
        relay.readyDevice(folder) { it.snapshot(Target.Channel(relay.channel("general"))) }
        assertTrue(folder.toFile().deleteRecursively())
        Files.createDirectory(folder)
    }

    @Test
    fun `threads end with their client`() = live {
        suspend fun threads() = File("/proc/self/task").listFiles().orEmpty()
            .count { runCatching { File(it, "comm").readText().trim() }.getOrDefault("") == "waggle" }
        val before = threads()
        repeat(5) { relay.readyDevice(folder.resolve("$it")) { session -> session.sidebar.first() } }
        while (threads() > before) delay(20)
        assertEquals(before, threads())
    }

    @Test
    fun `a hundred thousand calls leave memory as it was`() = live(within = 8.minutes) {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("general")
            session.timeline(channel).use { timeline ->
                suspend fun calls(count: Int) = repeat(count / 10) {
                    repeat(5) { session.syncNow() }
                    session.connectivityNow()
                    session.cues(0, 3)
                    session.snapshot(Target.Channel(channel))
                    session.sync.first()
                    if (it % 100 == 0) timeline.rows.first() else session.syncNow()
                }
                // Compiled code, arenas and queues of the collector settle in the first rounds; a leak goes on. 64 bytes a call are 6 MiB.
                val grown = ArrayList<Long>()
                var before = settledMemory()
                do {
                    calls(100_000)
                    val after = settledMemory()
                    grown += after - before
                    before = after
                } while (grown.last() > FLAT && grown.size < ROUNDS)
                println("memory after 100,000 calls: ${grown.map { it / 1024 }} KiB")
                assertTrue(grown.last() <= FLAT) { "goes on growing: $grown" }
            }
        }
    }

    companion object {
        private const val FLAT = 3L shl 20
        private const val ROUNDS = 6
    }
}

/** Files below a folder that this process has open. */
internal fun openFiles(folder: Path): List<String> = File("/proc/self/fd").listFiles().orEmpty()
    .mapNotNull { runCatching { Files.readSymbolicLink(it.toPath()).toString() }.getOrNull() }
    .filter { it.startsWith(folder.toRealPath().toString()) }

/** Resident bytes when the collector has run and what it found was given back. The JVM's heap is all resident from the start (pom.xml). */
private suspend fun settledMemory(): Long {
    repeat(4) {
        System.gc()
        delay(100)
    }
    val resident = File("/proc/self/status").readLines().first { it.startsWith("VmRSS:") }
    return resident.filter(Char::isDigit).toLong() * 1024
}
