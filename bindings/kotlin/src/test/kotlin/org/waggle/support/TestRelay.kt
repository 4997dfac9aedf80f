package org.waggle.support

import java.io.BufferedReader
import java.io.BufferedWriter
import java.util.concurrent.TimeUnit

/**
 * The embedded test relay with its lived-in community, as a process of its own. It is told what to do on its standard input and ends with
 * it, so it never outlives the tests.
 */
class TestRelay private constructor(private val process: Process) : AutoCloseable {
    private val commands: BufferedWriter = process.outputStream.bufferedWriter()
    private val answers: BufferedReader = process.inputStream.bufferedReader()

    /** Where it listens, as apps name it. */
    val host: String

    /** The viewer's key. It is public knowledge. */
    val nsec: String

    /** The viewer's account. */
    val viewer: String

    init {
        var host: String? = null
        var viewer: List<String>? = null
        while (viewer == null) {
            val line = checkNotNull(answers.readLine()) { "the test relay did not start" }
            if (line.startsWith("relay ")) host = line.split(Regex(" +"))[1]
            if (line.startsWith("viewer ")) viewer = line.split(Regex(" +"))
        }
        checkNotNull(answers.readLine())
        this.host = checkNotNull(host)
        nsec = viewer[1]
        this.viewer = viewer[2].trim('(', ')')
    }

    /** A channel's id by its name. */
    fun channel(name: String): String = ask("channel $name")

    /** Posts a message and answers its id. */
    fun post(channel: String, author: String, text: String): String = ask("post $channel $author $text")

    /** Posts a reply to a thread's root and answers its id. */
    fun reply(channel: String, author: String, root: String, text: String): String =
        ask("reply $channel $author $root $text")

    /** Posts `#1` to `#count`, one by one. */
    fun burst(channel: String, author: String, count: Int) {
        ask("burst $channel $author $count")
    }

    /** Cuts all connections. */
    fun drop() {
        ask("drop")
    }

    @Synchronized
    private fun ask(command: String): String {
        commands.write(command + "\n")
        commands.flush()
        val answer = checkNotNull(answers.readLine()) { "the test relay ended" }
        check(answer.startsWith("ok ")) { "$command: $answer" }
        return answer.removePrefix("ok ")
    }

    override fun close() {
        commands.close()
        if (!process.waitFor(10, TimeUnit.SECONDS)) process.destroyForcibly()
    }

    companion object {
        /** Starts one. Its program is named by `waggle.test.relay`. */
        fun start(): TestRelay {
            val program = checkNotNull(System.getProperty("waggle.test.relay")) { "waggle.test.relay is not set" }
            val command = listOf(program, "--listen", "127.0.0.1:0", "--seed-community", "--activity", "0", "--control")
            return TestRelay(ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start())
        }
    }
}
