package org.waggle.support

import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.BeforeEach

/**
 * Tests against the embedded relay: each has one of its own. With one for all, what two tests post to a channel within one second is
 * ordered by id, and neither can say which is the latest.
 */
abstract class RelayTest {
    lateinit var relay: TestRelay
        private set

    @BeforeEach
    fun start() {
        relay = TestRelay.start()
    }

    @AfterEach
    fun end() = relay.close()
}
