package org.waggle.reader

import android.content.Context
import androidx.test.core.app.ApplicationProvider
import org.junit.Assert.assertEquals
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RobolectricTestRunner
import org.robolectric.annotation.Config
import org.robolectric.annotation.GraphicsMode

/** Notices of the relay, as people read them. */
@RunWith(RobolectricTestRunner::class)
@GraphicsMode(GraphicsMode.Mode.NATIVE)
@Config(sdk = [35], application = TestApplication::class)
class NoticeTextTest {
    private val resources = ApplicationProvider.getApplicationContext<Context>().resources
    private val names = mapOf("a1" to "Mara", "b2" to "Robin")

    private fun text(json: String) = noticeText(resources, json, names)

    @Test
    fun `every sort has its words`() {
        assertEquals("Mara set the topic: Lime", text("""{"type":"topic_changed","actor":"a1","topic":"Lime"}"""))
        assertEquals("Mara set the purpose: Bees", text("""{"type":"purpose_changed","actor":"a1","purpose":"Bees"}"""))
        assertEquals("Robin joined", text("""{"type":"member_joined","actor":"b2","target":"b2"}"""))
        assertEquals("Mara added Robin", text("""{"type":"member_joined","actor":"a1","target":"b2"}"""))
        assertEquals("Someone left", text("""{"type":"member_left","actor":"c3"}"""))
        assertEquals("Mara removed Robin", text("""{"type":"member_removed","actor":"a1","target":"b2"}"""))
        assertEquals("Mara deleted a message", text("""{"type":"message_deleted","actor":"a1"}"""))
        assertEquals("Mara created this channel", text("""{"type":"channel_created","actor":"a1"}"""))
    }

    @Test
    fun `what is not known is shown by name or as it is`() {
        assertEquals("hive moved", text("""{"type":"hive_moved"}"""))
        assertEquals("plain words", text("plain words"))
        assertEquals("{}", text("{}"))
    }
}
