package org.waggle.reader

import android.content.ClipData
import android.os.PersistableBundle
import androidx.compose.ui.platform.ClipEntry
import androidx.compose.ui.platform.toClipEntry

/** Text for the clipboard. */
fun textClip(text: String): ClipEntry = ClipData.newPlainText("text", text).toClipEntry()

/** A key for the clipboard, which is not to be shown in previews. */
fun secretClip(text: String): ClipEntry {
    val clip = ClipData.newPlainText("key", text)
    // `ClipDescription.EXTRA_IS_SENSITIVE`, by its value: older systems read it too.
    clip.description.extras = PersistableBundle().apply { putBoolean("android.content.extra.IS_SENSITIVE", true) }
    return clip.toClipEntry()
}
