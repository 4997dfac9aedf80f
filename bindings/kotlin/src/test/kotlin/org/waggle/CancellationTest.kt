package org.waggle

import java.net.InetAddress
import java.net.ServerSocket
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.yield
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import org.waggle.support.RelayTest
import org.waggle.support.config
import org.waggle.support.live
import org.waggle.support.readyDevice

/** Cancelling ends what waits, loses nothing, and leaves nothing behind. */
class CancellationTest : RelayTest() {
    @TempDir
    lateinit var folder: Path

    @Test
    fun `a cancelled wait ends`() = live {
        // Accepts connections and never answers.
        ServerSocket(0, 50, InetAddress.getLoopbackAddress()).use { silent ->
            Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
                waggle.signIn(relay.nsec)
                waggle.session("ws://127.0.0.1:${silent.localPort}").use { session ->
                    session.start()
                    val pending = listOf<suspend () -> Unit>(
                        { session.ensure() },
                        { session.refresh() },
                        { session.sidebar.collect { } },
                        { session.connectivity.collect { } },
                        { session.unread(Target.Channel(relay.channel("general"))).collect { } },
                        { WaggleLog.batches.collect { } },
                    ).map { launch(start = CoroutineStart.UNDISPATCHED) { it() } }
                    yield()
                    assertTrue(pending.all { it.isActive })
                    pending.forEach { it.cancelAndJoin() }
                    assertTrue(pending.all { it.isCancelled })
                    // The session is as it was.
                    assertEquals(relay.viewer, session.account)
                    session.snapshot(Target.Channel(relay.channel("general")))
                }
            }
        }
    }

    @Test
    fun `a call that had begun is carried out though its caller is gone`() = live {
        relay.readyDevice(folder) { session ->
            val target = Target.Channel(relay.channel("recipes"))
            val call = launch(start = CoroutineStart.UNDISPATCHED) { session.markUnread(target) }
            call.cancelAndJoin()
            session.unread(target).first { it.manual == Manual.LOCAL_ONLY }
        }
    }

    @Test
    fun `a scope that ends closes its session all the same`() = live {
        lateinit var session: Session
        val scope = launch {
            relay.readyDevice(folder) {
                session = it
                delay(Long.MAX_VALUE)
            }
        }
        while (runCatching { session.sidebarNow().rows.isEmpty() }.getOrDefault(true)) delay(5)
        scope.cancelAndJoin()
        failure<SessionException.Closed> { session.start() }
        assertEquals(emptyList<String>(), openFiles(folder))
    }

    /**
     * The relay posts 5,000 messages while a collector of the timeline is cancelled at random and collects again. What it sees is always the
     * first k of them, and k never falls, whichever collection it is: nothing is lost, nothing comes out of order.
     */
    @Test
    fun `five thousand updates under random cancellation`() = live(within = 5.minutes) {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("bee-photos")
            val random = Random(5_000)
            session.timeline(channel).use { timeline ->
                val posting = launch { relay.burst("bee-photos", "hana", POSTS) }
                var seen = 0
                var version = 0UL
                var collections = 0
                while (seen < POSTS) {
                    val collecting = launch {
                        timeline.rows.collect { now ->
                            val numbers = now.rows.mapNotNull { it.text.removePrefix("#").toIntOrNull() }
                            check(numbers.toSet() == (1..numbers.size).toSet()) { "a gap within ${numbers.size}" }
                            check(numbers.size >= seen && now.version >= version) { "back from $seen to ${numbers.size}" }
                            check(now.rows.zipWithNext().all { (a, b) -> a.createdAt <= b.createdAt }) { "rows out of order" }
                            seen = numbers.size
                            version = now.version
                            if (seen == POSTS) currentCoroutineContext()[Job]?.cancel()
                        }
                    }
                    collections++
                    delay(random.nextInt(1, 40).milliseconds)
                    collecting.cancelAndJoin()
                }
                posting.join()
                assertEquals(POSTS, timeline.now().rows.count { it.text.startsWith("#") })
                assertTrue(collections > 10) { "$collections collections" }
            }
        }
    }

    @Test
    fun `changes pulled with cancelled waits in between add up to the whole`() = live {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("dm-jonah")
            val random = Random(17)
            var last: Sidebar? = null
            coroutineScope {
                val toggling = launch {
                    repeat(500) {
                        session.presentAs(channel, if (it % 2 == 0) PresentationClass.SOLO else PresentationClass.NORMAL)
                    }
                }
                while (toggling.isActive) {
                    val collecting = launch {
                        session.sidebar.collect { now ->
                            check(now.version >= (last?.version ?: 0UL))
                            last = now
                        }
                    }
                    delay(random.nextInt(1, 15).milliseconds)
                    collecting.cancelAndJoin()
                }
            }
            assertEquals(session.sidebarNow(), session.sidebar.first())
            assertEquals(SidebarSection.DIRECT_MESSAGES, session.sidebarNow().rows.single { it.channel == channel }.section)
        }
    }

    @Test
    fun `handles are given back while calls are under way`() = live {
        val channel = relay.channel("general")
        val answered = AtomicInteger()
        repeat(12) { round ->
            relay.readyDevice(folder.resolve("$round")) { session ->
                val timeline = session.timeline(channel)
                val surface = session.surface(channel)
                val over = AtomicBoolean()
                val calls = List(24) { n ->
                    async {
                        try {
                            while (true) {
                                when (n % 8) {
                                    0 -> session.sidebarNow()
                                    1 -> session.snapshot(Target.Channel(channel))
                                    2 -> timeline.now()
                                    3 -> timeline.rows.first()
                                    4 -> surface.report(Viewport(true, true, emptyList(), null))
                                    5 -> session.cues(0, 3)
                                    6 -> session.timeline(channel).close()
                                    else -> session.activity(channel)
                                }
                                answered.incrementAndGet()
                                // What was shown last can still be looked at: not all of these fail after the end.
                                if (over.get()) break
                                yield()
                            }
                        } catch (_: SessionException.Closed) {
                            // The end that was to be expected.
                        } catch (_: NoSuchElementException) {
                            // A flow of something closed is empty.
                        }
                    }
                }
                delay(20.milliseconds)
                surface.close()
                if (round % 2 == 0) timeline.close()
                session.close()
                over.set(true)
                calls.awaitAll()
            }
        }
        assertTrue(answered.get() > 100)
    }

    companion object {
        private const val POSTS = 5_000
    }
}
