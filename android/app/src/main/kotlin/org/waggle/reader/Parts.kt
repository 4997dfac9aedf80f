// Small parts that several screens use.
package org.waggle.reader

import androidx.annotation.DrawableRes
import androidx.compose.foundation.background
import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Box
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.Spacer
import androidx.compose.foundation.layout.fillMaxSize
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.heightIn
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.layout.size
import androidx.compose.foundation.layout.width
import androidx.compose.foundation.shape.CircleShape
import androidx.compose.material3.Button
import androidx.compose.material3.CircularProgressIndicator
import androidx.compose.material3.Icon
import androidx.compose.material3.IconButton
import androidx.compose.material3.LinearProgressIndicator
import androidx.compose.material3.LocalContentColor
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.Surface
import androidx.compose.material3.Text
import androidx.compose.material3.TextButton
import androidx.compose.runtime.Composable
import androidx.compose.runtime.DisposableEffect
import androidx.compose.runtime.mutableIntStateOf
import androidx.compose.runtime.staticCompositionLocalOf
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.draw.clip
import androidx.compose.ui.graphics.Color
import androidx.compose.ui.platform.LocalDensity
import androidx.compose.ui.res.painterResource
import androidx.compose.ui.res.stringResource
import androidx.compose.ui.semantics.LiveRegionMode
import androidx.compose.ui.semantics.clearAndSetSemantics
import androidx.compose.ui.semantics.liveRegion
import androidx.compose.ui.semantics.semantics
import androidx.compose.ui.text.font.FontWeight
import androidx.compose.ui.text.style.TextAlign
import androidx.compose.ui.unit.Dp
import androidx.compose.ui.unit.dp
import org.waggle.Connectivity
import org.waggle.Failure
import org.waggle.Phase
import org.waggle.SyncStatus
import org.waggle.kit.canTryAgain
import org.waggle.kit.initials

/** How many things lie over the front-most screen. */
class Covers {
    private val count = mutableIntStateOf(0)

    /** Whether anything does. */
    val any: Boolean get() = count.intValue > 0

    internal fun add(change: Int) {
        count.intValue += change
    }
}

/** The covers of this window. */
val LocalCovers = staticCompositionLocalOf { Covers() }

/** Put into whatever covers the screen: nothing beneath is read while it is there. */
@Composable
fun CoversScreen() {
    val covers = LocalCovers.current
    DisposableEffect(covers) {
        covers.add(1)
        onDispose { covers.add(-1) }
    }
}

/** A glyph of this app. */
@Composable
fun Glyph(@DrawableRes glyph: Int, label: String?, modifier: Modifier = Modifier, tint: Color? = null) {
    val colour = tint ?: LocalContentColor.current
    Icon(painterResource(glyph), label, modifier, tint = colour)
}

/** A button that is a glyph. */
@Composable
fun GlyphButton(@DrawableRes glyph: Int, label: String, tint: Color? = null, onClick: () -> Unit) {
    IconButton(onClick) { Glyph(glyph, label, tint = tint) }
}

/** The accent dot. What it means is said by the row it stands in. */
@Composable
fun AccentDot(modifier: Modifier = Modifier) {
    Box(modifier.size(8.dp).clip(CircleShape).background(MaterialTheme.colorScheme.primary))
}

private val AvatarColours = listOf(0xFFB5651D, 0xFF2F6A3E, 0xFF2B5F8A, 0xFF7A3E6D, 0xFF8A2B2B, 0xFF5B5F1E, 0xFF3E4A8A, 0xFF0F6B6B)

/** A round picture with a person's initials; always the same colour for the same [key]. */
@Composable
fun Avatar(key: String, name: String, size: Dp = 36.dp) {
    val colour = AvatarColours[Math.floorMod(key.hashCode(), AvatarColours.size)]
    Box(
        Modifier.size(size).clip(CircleShape).background(Color(colour)).clearAndSetSemantics {},
        contentAlignment = Alignment.Center,
    ) {
        // Letters in a fixed circle do not grow with the rest.
        val letters = with(LocalDensity.current) { (size * 0.38f).toSp() }
        Text(initials(name), color = Color.White, fontSize = letters, lineHeight = letters, fontWeight = FontWeight.Medium)
    }
}

/** One sentence and one action in the middle of an otherwise empty place. */
@Composable
fun MiddleNote(sentence: String, @DrawableRes glyph: Int, action: String? = null, onAction: () -> Unit = {}) {
    Column(
        Modifier.fillMaxSize().padding(32.dp),
        verticalArrangement = Arrangement.spacedBy(16.dp, Alignment.CenterVertically),
        horizontalAlignment = Alignment.CenterHorizontally,
    ) {
        Glyph(glyph, null, Modifier.size(48.dp), MaterialTheme.colorScheme.outline)
        Text(sentence, style = MaterialTheme.typography.bodyLarge, textAlign = TextAlign.Center)
        if (action != null) Button(onAction) { Text(action) }
    }
}

/** A failure that leaves nothing to show. */
@Composable
fun FailurePane(failure: Failure, onAgain: () -> Unit) {
    MiddleNote(failure.sentence, R.drawable.ic_info, stringResource(R.string.try_again).takeIf { failure.canTryAgain }, onAgain)
}

/** Something is on its way. */
@Composable
fun Waiting() {
    Box(Modifier.fillMaxSize(), contentAlignment = Alignment.Center) { CircularProgressIndicator() }
}

/** What the core is doing, while there is something to be said about it, and what the person can do. */
@Composable
fun StatusBanner(connectivity: Connectivity?, sync: SyncStatus?, onConnect: () -> Unit, onSync: () -> Unit) {
    val quiet = connectivity == null || connectivity.phase == Phase.ONLINE && connectivity.error == null && connectivity.repair == null
    val syncError = sync?.error
    if (quiet && syncError == null) return
    val sentence = if (quiet) syncError?.sentence.orEmpty() else connectivity.sentence
    val waits = connectivity?.phase == Phase.CONNECTING || connectivity?.repair != null
    val action: (() -> Unit)? = when {
        quiet -> onSync
        waits -> null
        else -> onConnect
    }
    val ink = MaterialTheme.colorScheme.onSecondaryContainer
    Surface(Modifier.fillMaxWidth(), color = MaterialTheme.colorScheme.secondaryContainer, contentColor = ink) {
        Column {
            Row(Modifier.heightIn(min = 44.dp).padding(start = 16.dp, end = 4.dp), verticalAlignment = Alignment.CenterVertically) {
                if (!waits) {
                    Glyph(if (quiet) R.drawable.ic_info else R.drawable.ic_offline, null, Modifier.size(20.dp))
                    Spacer(Modifier.width(12.dp))
                }
                Text(
                    sentence,
                    Modifier.weight(1f).padding(vertical = 8.dp).semantics { liveRegion = LiveRegionMode.Polite },
                    style = MaterialTheme.typography.bodyMedium,
                )
                if (action != null) TextButton(action) { Text(stringResource(R.string.try_again), color = ink, fontWeight = FontWeight.Bold) }
            }
            if (waits) LinearProgressIndicator(Modifier.fillMaxWidth())
        }
    }
}
