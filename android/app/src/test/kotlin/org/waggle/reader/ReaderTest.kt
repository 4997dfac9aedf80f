package org.waggle.reader

import android.app.Activity
import android.graphics.Bitmap
import android.graphics.Canvas
import android.graphics.Color
import android.os.Looper
import android.view.View
import android.view.WindowManager
import androidx.compose.ui.test.SemanticsMatcher
import androidx.compose.ui.test.SemanticsNodeInteraction
import androidx.compose.ui.test.hasText
import androidx.compose.ui.test.junit4.v2.createEmptyComposeRule
import androidx.compose.ui.test.onFirst
import androidx.compose.ui.test.performClick
import androidx.compose.ui.test.performTextReplacement
import androidx.test.core.app.ActivityScenario
import androidx.test.core.app.ApplicationProvider
import java.io.File
import java.time.Duration
import kotlinx.coroutines.runBlocking
import org.junit.After
import org.junit.Assert.assertTrue
import org.junit.Rule
import org.junit.rules.TemporaryFolder
import org.junit.runner.RunWith
import org.robolectric.RobolectricTestRunner
import org.robolectric.Shadows.shadowOf
import org.robolectric.annotation.Config
import org.robolectric.annotation.GraphicsMode
import org.waggle.kit.CommunityModel
import org.waggle.kit.Place
import org.waggle.kit.TimelineModel

/** The whole app under Robolectric. Time passes for real: the core has its own. */
@RunWith(RobolectricTestRunner::class)
@GraphicsMode(GraphicsMode.Mode.NATIVE)
@Config(sdk = [35], qualifiers = "en-rUS-w360dp-h720dp-hdpi", application = TestApplication::class)
abstract class ReaderTest {
    @get:Rule
    val rule = createEmptyComposeRule()

    @get:Rule
    val folder = TemporaryFolder()

    private var launched: ActivityScenario<MainActivity>? = null

    /** The window. */
    protected val window: ActivityScenario<MainActivity> get() = launched ?: ActivityScenario.launch(MainActivity::class.java).also { launched = it }

    protected val app: ReaderApplication get() = ApplicationProvider.getApplicationContext()

    protected val community: CommunityModel get() = checkNotNull(app.reader.community) { "no community is open" }

    protected val timeline: TimelineModel get() = (community.state.value.places.last() as Place.Timeline).model

    @After
    fun end() {
        launched?.close()
        runBlocking { app.reader.close() }
    }

    /** Lets time pass until something is so. */
    protected fun eventually(what: String, seconds: Int = 60, so: () -> Boolean) {
        val last = System.nanoTime() + seconds * 1_000_000_000L
        while (true) {
            pass()
            if (so()) return
            check(System.nanoTime() < last) { "not within $seconds s: $what" }
        }
    }

    /** Lets a moment pass, for the core and for the window. */
    protected fun pass(millis: Long = 20) {
        Thread.sleep(millis)
        shadowOf(Looper.getMainLooper()).idleFor(Duration.ofMillis(millis))
        rule.waitForIdle()
    }

    protected fun find(what: SemanticsMatcher): SemanticsNodeInteraction = rule.onAllNodes(what).onFirst()

    protected fun shows(what: SemanticsMatcher): Boolean = rule.onAllNodes(what).fetchSemanticsNodes().isNotEmpty()

    /** Waits until something shows and touches it. */
    protected fun touch(what: SemanticsMatcher) {
        eventually("to be seen: ${what.description}") { shows(what) }
        find(what).performClick()
    }

    /** Types into the field with this label. */
    protected fun type(label: String, text: String) {
        eventually("a field for $label") { shows(hasText(label)) }
        find(hasText(label)).performTextReplacement(text)
    }

    /** Signs in and opens the community on [relay]. */
    protected fun enter(relay: TestRelay) {
        window
        type("Account key", relay.key)
        touch(hasText("Sign in"))
        type("Address", relay.address)
        touch(hasText("Open"))
        eventually("channels") { community.state.value.groups.orEmpty().isNotEmpty() }
        eventually("a connection") { community.state.value.connectivity?.sentence == "Up to date." }
    }

    /** Takes a picture of every window that shows. */
    protected fun picture(name: String) {
        pass()
        lateinit var bitmap: Bitmap
        window.onActivity { bitmap = drawn(it) }
        val file = File(System.getProperty("waggle.screenshots") ?: "target/screenshots", "$name.png")
        file.parentFile!!.mkdirs()
        file.outputStream().use { bitmap.compress(Bitmap.CompressFormat.PNG, 100, it) }
        assertTrue("$name is ${file.length()} bytes", file.length() in 4_000..150_000)
    }

    private fun drawn(activity: Activity): Bitmap {
        val root = activity.window.decorView
        val bitmap = Bitmap.createBitmap(root.width, root.height, Bitmap.Config.ARGB_8888)
        val canvas = Canvas(bitmap)
        root.draw(canvas)
        for (view in windows().filter { it !== root && it.width > 0 && it.visibility == View.VISIBLE }) {
            val placed = view.layoutParams as WindowManager.LayoutParams
            if (placed.flags and WindowManager.LayoutParams.FLAG_DIM_BEHIND != 0) canvas.drawColor(Color.argb(110, 0, 0, 0))
            val popup = placed.type in WindowManager.LayoutParams.FIRST_SUB_WINDOW..WindowManager.LayoutParams.LAST_SUB_WINDOW
            canvas.save()
            if (popup) canvas.translate(placed.x.toFloat(), placed.y.toFloat())
            else canvas.translate((root.width - view.width) / 2f, (root.height - view.height) / 2f)
            view.draw(canvas)
            canvas.restore()
        }
        return bitmap
    }

    /** All windows of the process, the lowest first. There is no public way to ask for dialogs and menus. */
    private fun windows(): List<View> {
        val manager = Class.forName("android.view.WindowManagerGlobal")
        val all = manager.getMethod("getInstance").invoke(null)
        @Suppress("UNCHECKED_CAST")
        return manager.getMethod("getWindowViews").invoke(all) as List<View>
    }
}
