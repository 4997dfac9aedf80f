package org.waggle.reader

import java.io.BufferedReader
import java.io.BufferedWriter
import java.io.Closeable
import java.io.File

/**
 * The project's own relay with its lived-in community, in a process of its own. It keeps what it holds in a file, so that it can go away
 * and come back at the same address.
 */
class TestRelay(folder: File) : Closeable {
    private val db = File(folder, "relay.sqlite")

    /** For pictures that are the same each time: when the community's talk ended, and a port, which shows. */
    private val seeded = System.getProperty("waggle.pictures.at").orEmpty().let { if (it.isEmpty()) emptyList() else listOf("--seed-at", it) }
    private val port = if (seeded.isEmpty()) 0 else PICTURED_PORT
    private var process: Process? = null
    private lateinit var said: BufferedReader
    private lateinit var told: BufferedWriter

    /** `ws://127.0.0.1:PORT`. */
    var address = ""
        private set

    /** The key of the person whose reader this is. */
    var key = ""
        private set

    init {
        come()
    }

    /** Listens, at the address it had if it had one. */
    fun come() {
        val listen = address.removePrefix("ws://").ifEmpty { "127.0.0.1:$port" }
        val command = listOf(
            System.getProperty("waggle.test.relay")!!, "--listen", listen, "--seed-community", "--activity", "0", "--control",
            "--db", db.path,
        ) + seeded
        process = ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start().also {
            said = it.inputReader()
            told = it.outputWriter()
        }
        while (true) {
            val line = checkNotNull(said.readLine()) { "the relay ended" }
            if (line.startsWith("relay ")) address = line.split(Regex("\\s+"))[1]
            if (line.startsWith("viewer ")) key = line.split(Regex("\\s+"))[1]
            if (line.startsWith("The viewer key")) return
        }
    }

    /** Goes away; nobody answers at its address. */
    fun go() {
        val process = process ?: return
        this.process = null
        told.close()
        process.destroy()
        process.waitFor()
    }

    /** Carries out one command, and answers what it said. */
    fun tell(command: String): String {
        told.write("$command\n")
        told.flush()
        val answer = said.readLine().orEmpty()
        check(answer.startsWith("ok ")) { "$command: $answer" }
        return answer.removePrefix("ok ")
    }

    override fun close() = go()

    private companion object {
        const val PICTURED_PORT = 7448
    }
}
