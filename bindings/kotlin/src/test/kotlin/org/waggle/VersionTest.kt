package org.waggle

import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class VersionTest {
    @Test
    fun `the library answers`() {
        val parts = Waggle.version.split('.')
        assertTrue(parts.size == 3 && parts.all { it.toUIntOrNull() != null }, Waggle.version)
    }
}
