package org.waggle.sample

import java.awt.Point
import java.awt.Rectangle
import java.awt.Robot
import java.awt.event.InputEvent
import java.awt.image.BufferedImage
import java.io.File
import javax.imageio.ImageIO
import javax.swing.JFrame
import javax.swing.SwingUtilities
import kotlin.concurrent.thread
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.Assert.assertTrue
import org.junit.Rule
import org.junit.Test
import org.junit.rules.TemporaryFolder
import org.waggle.ClientConfig
import org.waggle.Mode
import org.waggle.Session
import org.waggle.SidebarRow
import org.waggle.Waggle
import org.waggle.fakes.MemorySecretStore
import org.waggle.use

/** The sample as a person sees it: a real window, the real core, the real relay. A second device of the same person says what was read. */
class WindowTest {
    @get:Rule
    val folder = TemporaryFolder()

    private val relay = ProcessBuilder(
        System.getProperty("waggle.test.relay"), "--listen", "127.0.0.1:0", "--seed-community", "--activity", "0", "--control",
    ).redirectError(ProcessBuilder.Redirect.INHERIT).start()

    private fun client(name: String) = Waggle.open(ClientConfig(folder.newFolder(name).path, Mode.APP), MemorySecretStore())

    /** What the relay says when it starts: its address and the person's key. */
    private fun introduced(): Pair<String, String> {
        val said = relay.inputReader().lineSequence().takeWhile { !it.startsWith("The viewer key") }.toList()
        val word = { name: String -> said.first { it.startsWith("$name ") }.split(Regex("\\s+"))[1] }
        return word("relay") to word("viewer")
    }

    @Test
    fun `a touched channel shows its messages, and what shows is read`() = try {
        val (address, key) = introduced()
        val window = thread { run(client("window"), key, address) }
        val frame = eventually("a window") { JFrame.getFrames().filterIsInstance<JFrame>().find { it.isShowing } }
        runBlocking {
            client("other device").use { other ->
                other.signIn(key)
                val session = other.session(address)
                session.start()
                session.ensure()
                val rows = withTimeout(60_000) { session.sidebar.first { state -> state.rows.any { it.name == GENERAL && it.strong } }.rows }
                look(frame, rows)
                eventually("the other device to hear of it") { session.row().takeIf { !it.strong } }
            }
        }
        SwingUtilities.invokeLater { frame.dispatchEvent(java.awt.event.WindowEvent(frame, java.awt.event.WindowEvent.WINDOW_CLOSING)) }
        window.join(60_000)
        assertTrue("the program ends when its window is closed", !window.isAlive)
    } finally {
        relay.destroy()
    }

    private fun Session.row(): SidebarRow = sidebarNow().rows.first { it.name == GENERAL }

    /** Touches the channel's row when the list is drawn, and photographs what is there then. */
    private fun look(frame: JFrame, rows: List<SidebarRow>) {
        val robot = Robot()
        val list = { robot.createScreenCapture(Rectangle(frame.contentPane.locationOnScreen, frame.contentPane.size)) }
        eventually("channels to be drawn") { list().takeIf { it.drawn(0 until CHANNELS) > rows.size } }
        val corner = frame.contentPane.locationOnScreen
        val row = Point(corner.x + 60, corner.y + ROW * rows.indexOfFirst { it.name == GENERAL } + ROW / 2)
        robot.mouseMove(row.x, row.y)
        robot.mousePress(InputEvent.BUTTON1_DOWN_MASK)
        robot.mouseRelease(InputEvent.BUTTON1_DOWN_MASK)
        val picture = eventually("messages to be drawn") { list().takeIf { it.drawn(CHANNELS until it.width) > rows.size } }
        val file = File(System.getProperty("waggle.screenshots"), "compose-sample.png")
        file.parentFile.mkdirs()
        ImageIO.write(picture, "png", file)
    }

    /** How many lines of pixels have something dark in these columns. */
    private fun BufferedImage.drawn(columns: IntRange) = (0 until height).count { y -> columns.any { x -> getRGB(x, y) and 0xFF < 0x60 } }

    private fun <T : Any> eventually(what: String, look: () -> T?): T {
        val last = System.nanoTime() + 60_000_000_000L
        while (System.nanoTime() < last) {
            look()?.let { return it }
            Thread.sleep(50)
        }
        error("not within 60 s: $what")
    }

    private companion object {
        const val GENERAL = "general"
        const val CHANNELS = 240
        const val ROW = 36
    }
}
