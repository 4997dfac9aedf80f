package org.waggle.sample

import java.io.File
import org.junit.Assert.assertEquals
import org.junit.Test

/** Every Kotlin block of the how-to is a region of the sample, and each region is in the how-to. */
class HowToTest {
    private val root = File(System.getProperty("waggle.root"))
    private val blocks = Regex("<!-- sample: (\\S+)#(\\S+) -->\\n\\n```kotlin\\n(.*?)\\n```", RegexOption.DOT_MATCHES_ALL)
    private val regions = Regex("// howto: (compose-\\S+)\\n(.*?)\\n// howto: end", RegexOption.DOT_MATCHES_ALL)

    @Test
    fun `the how-to says what is compiled`() {
        val sample = "bindings/docs/samples/compose/src/Chat.kt"
        val compiled = regions.findAll(File(root, sample).readText()).associate { it.groupValues[1] to it.groupValues[2] }
        val said = blocks.findAll(File(root, "bindings/docs/howto.md").readText()).map { it.groupValues.drop(1) }.toList()
        assertEquals(setOf(sample), said.map { it[0] }.toSet())
        assertEquals(compiled, said.associate { it[1] to it[2] })
    }
}
