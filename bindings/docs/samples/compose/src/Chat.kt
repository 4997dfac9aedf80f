// Waggle in a Compose app that already exists: for the desktop here, the same on Android. The marked regions are the blocks of
// `bindings/docs/howto.md`.
package org.waggle.sample

import androidx.compose.foundation.background
import androidx.compose.foundation.clickable
import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Box
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.fillMaxHeight
import androidx.compose.foundation.layout.fillMaxSize
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.layout.size
import androidx.compose.foundation.layout.width
import androidx.compose.foundation.lazy.LazyColumn
import androidx.compose.foundation.lazy.LazyListState
import androidx.compose.foundation.lazy.items
import androidx.compose.foundation.lazy.rememberLazyListState
import androidx.compose.foundation.shape.CircleShape
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.Surface
import androidx.compose.material3.Text
import androidx.compose.runtime.Composable
import androidx.compose.runtime.DisposableEffect
import androidx.compose.runtime.LaunchedEffect
import androidx.compose.runtime.collectAsState
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.remember
import androidx.compose.runtime.rememberCoroutineScope
import androidx.compose.runtime.rememberUpdatedState
import androidx.compose.runtime.setValue
import androidx.compose.runtime.snapshotFlow
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.platform.LocalWindowInfo
import androidx.compose.ui.semantics.clearAndSetSemantics
import androidx.compose.ui.semantics.contentDescription
import androidx.compose.ui.text.font.FontWeight
import androidx.compose.ui.unit.dp
import androidx.compose.ui.window.Window
import androidx.compose.ui.window.application
import java.time.Instant
import java.time.ZoneId
import kotlinx.coroutines.launch
import org.waggle.ChannelId
import org.waggle.ClientConfig
import org.waggle.EventId
import org.waggle.Failure
import org.waggle.Mode
import org.waggle.SessionException
import org.waggle.TimelineSnapshot
import org.waggle.Viewport
import org.waggle.Waggle
import org.waggle.WaggleException
import org.waggle.WaggleSession
import org.waggle.WaggleSurface
import org.waggle.use

// howto: compose-open
/** One for the whole app, made when the person opens chat for the first time. */
class Chat(private val waggle: Waggle) {
    var session by mutableStateOf<WaggleSession?>(null)
        private set
    var failure by mutableStateOf<Failure?>(null)
        private set

    suspend fun open(key: String, community: String) = try {
        waggle.signIn(key)
        val opened = waggle.session(community)
        // Returns when what this device holds can be read; connecting goes on by itself.
        opened.start()
        session = opened
        // Counts once what is unread.
        opened.ensure()
    } catch (e: WaggleException) {
        failure = e.failure
    }

    suspend fun close() = waggle.close()
}
// howto: end

// howto: compose-sidebar
/** The channel list. Rows come ready to draw, in drawing order; a screen reader says what the core says. */
@Composable
fun Channels(session: WaggleSession, onOpen: (ChannelId) -> Unit) {
    val sidebar by session.sidebar.collectAsState(null)
    LazyColumn(Modifier.width(240.dp).fillMaxHeight()) {
        items(sidebar?.rows.orEmpty(), { it.channel }) { row ->
            Row(
                Modifier.fillMaxWidth().clickable { onOpen(row.channel) }.padding(12.dp, 6.dp)
                    .clearAndSetSemantics { contentDescription = row.accessibleName },
                Arrangement.SpaceBetween,
                Alignment.CenterVertically,
            ) {
                Text(row.name, fontWeight = if (row.strong) FontWeight.Bold else FontWeight.Normal)
                if (row.dot) Box(Modifier.size(9.dp).background(MaterialTheme.colorScheme.primary, CircleShape))
            }
        }
    }
}
// howto: end

// howto: compose-timeline
/** A channel. It opens when it appears, and everything it opened ends with its coroutine. */
@Composable
fun Messages(session: WaggleSession, channel: ChannelId) {
    var snapshot by remember { mutableStateOf<TimelineSnapshot?>(null) }
    var surface by remember { mutableStateOf<WaggleSurface?>(null) }
    var failure by remember { mutableStateOf<Failure?>(null) }
    LaunchedEffect(session, channel) {
        try {
            session.timeline(channel, utcOffset = ZoneId.systemDefault().rules.getOffset(Instant.now()).totalSeconds).use { timeline ->
                session.surface(channel).use {
                    surface = it
                    timeline.rows.collect { now -> snapshot = now }
                }
            }
        } catch (e: SessionException) {
            failure = e.failure
        }
    }
    // At once: nothing is read that the person does not look at.
    DisposableEffect(Unit) { onDispose { surface?.close() } }
    val list = rememberLazyListState()
    val rows = snapshot?.rows.orEmpty().asReversed()
    LazyColumn(Modifier.fillMaxSize(), list, reverseLayout = true) {
        items(rows, { it.id }) { row -> Text("${row.authorName}: ${row.text}", Modifier.padding(12.dp, 6.dp)) }
    }
    failure?.let { Text(it.sentence) }
    surface?.let { ReportVisible(it, list, rows.firstOrNull()?.id) }
}
// howto: end

// howto: compose-visible
/** Reports which rows show in full, when that changes and nothing moves. What was read, the core decides. */
@Composable
fun ReportVisible(surface: WaggleSurface, list: LazyListState, newest: EventId?) {
    val window = LocalWindowInfo.current
    val newestNow by rememberUpdatedState(newest)
    LaunchedEffect(surface, list) {
        snapshotFlow { viewport(list, newestNow, window.isWindowFocused) }.collect(surface::report)
    }
}

/** Of a list that stands on its newest row: offsets grow upwards. */
private fun viewport(list: LazyListState, newest: EventId?, active: Boolean): Viewport {
    val settled = !list.isScrollInProgress
    if (!active || !settled) return Viewport(active, settled, emptyList(), null)
    val layout = list.layoutInfo
    val full = layout.visibleItemsInfo.filter { it.offset >= layout.viewportStartOffset && it.offset + it.size <= layout.viewportEndOffset }
    val bottom = layout.visibleItemsInfo.find { it.key == newest && it.offset >= layout.viewportStartOffset }
    return Viewport(true, true, full.reversed().map { it.key as EventId }, bottom?.let { newest })
}
// howto: end

/** The window: channels on the left, the open one beside them. */
@Composable
fun Chats(chat: Chat) = MaterialTheme {
    var open by remember { mutableStateOf<ChannelId?>(null) }
    Surface(Modifier.fillMaxSize()) {
        chat.failure?.let { Text(it.sentence) }
        chat.session?.let { session ->
            Row {
                Channels(session) { open = it }
                open?.let { channel -> androidx.compose.runtime.key(channel) { Messages(session, channel) } }
            }
        }
    }
}

// howto: compose-life
/** A desktop app closes the client before its process ends. On Android `SessionLifecycle` is told what the system says. */
fun run(waggle: Waggle, key: String, community: String) = application(exitProcessOnExit = false) {
    val chat = remember { Chat(waggle) }
    val scope = rememberCoroutineScope()
    LaunchedEffect(Unit) { chat.open(key, community) }
    val close: () -> Unit = {
        scope.launch {
            chat.close()
            exitApplication()
        }
    }
    Window(close, title = "Chat") { Chats(chat) }
}
// howto: end

/** `sample FOLDER KEY COMMUNITY`: keys go into the platform's store. */
fun main(arguments: Array<String>) {
    val (folder, key, community) = arguments
    run(Waggle.open(ClientConfig(folder, Mode.APP)), key, community)
}
