package org.waggle.kit

import java.io.File
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test

/** `libs.versions.toml` is the one list of versions. Maven cannot read it, so what its poms say is compared here. */
class VersionsTest {
    private val android = File(System.getProperty("waggle.root") ?: "../..", "android")
    private val toml = File(android, "gradle/libs.versions.toml").readLines()
    private val sample = "../bindings/docs/samples/compose/pom.xml"
    private val poms = listOf("pom.xml", "kit/pom.xml", "app/pom.xml", "androidx/pom.xml", sample).map { File(android, it).readText() }
    private val properties = Regex("<([\\w.-]+)\\.version>([^<$]+)</").findAll(poms.first()).associate { it.groupValues[1] to it.groupValues[2] }

    private val versions = toml.mapNotNull { Regex("^([\\w-]+) = \"([^\"]+)\"$").find(it) }.associate { it.groupValues[1] to it.groupValues[2] }

    private val libraries = toml
        .mapNotNull { Regex("module = \"([^\"]+)\", version.ref = \"([^\"]+)\"").find(it) }
        .associate { it.groupValues[1] to versions.getValue(it.groupValues[2]) }

    /** Every artifact a pom names with a version, under the name Gradle has for it: that without its platform. */
    private val artifacts = poms
        .flatMap { Regex("<groupId>([^<]+)</groupId>\\s*<artifactId>([^<]+)</artifactId>\\s*<version>([^<]+)</version>").findAll(it) }
        .map { match -> match.groupValues.drop(1) }
        .map { (group, name, version) -> "$group:${name.removeSuffix("-android").removeSuffix("-jvm")}" to (name to resolved(version)) }

    private fun resolved(version: String) = Regex("\\$\\{([\\w.-]+)\\.version}").replace(version) { properties[it.groupValues[1]] ?: it.value }

    @Test
    fun `properties of the poms are the versions of the catalog`() {
        val shared = properties.keys.intersect(versions.keys)
        assertTrue("$shared", shared.containsAll(listOf("kotlin", "coroutines", "compose", "activity", "lifecycle", "material3", "jna", "compose-desktop")))
        shared.forEach { assertEquals(it, versions[it], properties[it]) }
    }

    @Test
    fun `every library of the catalog has the same version in the poms`() {
        // Debug builds' manifest entry for Compose's tests; tools/PrepareAndroid.java writes it.
        val gradleOnly = setOf("androidx.compose.ui:ui-test-manifest")
        (libraries.keys - gradleOnly).forEach { library ->
            val named = artifacts.filter { it.first == library || it.first == library.removeSuffix("-android") }
            // JNA comes with the bindings, whose pom has its own check below.
            if (library == "net.java.dev.jna:jna") return@forEach
            assertTrue("$library is in no pom", named.isNotEmpty())
            named.forEach { (_, found) -> assertEquals("$library as ${found.first}", libraries[library], found.second) }
        }
    }

    @Test
    fun `the bindings are built with the same versions`() {
        val reactor = File(android, "../bindings/kotlin/reactor.xml").readText()
        listOf("kotlin", "coroutines", "jna").forEach { assertTrue("$it is another there", "<$it.version>${versions[it]}</" in reactor) }
    }
}
