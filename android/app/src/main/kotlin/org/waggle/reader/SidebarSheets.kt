// What opens over the channel list for one channel.
package org.waggle.reader

import androidx.compose.foundation.clickable
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.navigationBarsPadding
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.lazy.LazyColumn
import androidx.compose.foundation.lazy.items
import androidx.compose.material3.ExperimentalMaterial3Api
import androidx.compose.material3.ListItem
import androidx.compose.material3.ListItemDefaults
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.ModalBottomSheet
import androidx.compose.material3.Text
import androidx.compose.material3.rememberModalBottomSheetState
import androidx.compose.runtime.Composable
import androidx.compose.runtime.getValue
import androidx.compose.runtime.remember
import androidx.compose.ui.Modifier
import androidx.compose.ui.graphics.Color
import androidx.compose.ui.res.stringResource
import androidx.compose.ui.semantics.heading
import androidx.compose.ui.semantics.semantics
import androidx.compose.ui.text.style.TextOverflow
import androidx.compose.ui.unit.dp
import androidx.lifecycle.compose.collectAsStateWithLifecycle
import kotlinx.coroutines.flow.catch
import org.waggle.Manual
import org.waggle.SidebarRow
import org.waggle.Target
import org.waggle.ThreadActivity
import org.waggle.kit.CommunityModel

/** A sheet from below with a title. */
@OptIn(ExperimentalMaterial3Api::class)
@Composable
fun Sheet(title: String, onDismiss: () -> Unit, content: @Composable () -> Unit) {
    CoversScreen()
    ModalBottomSheet(onDismiss, sheetState = rememberModalBottomSheetState(skipPartiallyExpanded = true)) {
        Column(Modifier.navigationBarsPadding()) {
            Text(
                title,
                Modifier.padding(horizontal = 16.dp, vertical = 8.dp).semantics { heading() },
                style = MaterialTheme.typography.titleMedium,
                maxLines = 2,
                overflow = TextOverflow.Ellipsis,
            )
            content()
        }
    }
}

/** A line of a sheet. */
@Composable
fun SheetAction(label: Int, glyph: Int, onClick: () -> Unit) {
    ListItem(
        { Text(stringResource(label)) },
        Modifier.clickable(onClick = onClick),
        leadingContent = { Glyph(glyph, null) },
        colors = ListItemDefaults.colors(containerColor = Color.Transparent),
    )
}

/** What can be done with a channel. */
@Composable
fun ChannelSheet(community: CommunityModel, row: SidebarRow, onDismiss: () -> Unit) {
    val pick: (() -> Unit) -> () -> Unit = { then -> { onDismiss(); then() } }
    val target = Target.Channel(row.channel)
    Sheet(row.name, onDismiss) {
        SheetAction(R.string.mark_read, R.drawable.ic_check, pick { community.markRead(row.channel) })
        if (row.manual == Manual.LOCAL_ONLY) {
            SheetAction(R.string.clear_unread, R.drawable.ic_unread, pick { community.markUnread(target, unread = false) })
        } else {
            SheetAction(R.string.mark_unread, R.drawable.ic_unread, pick { community.markUnread(target) })
        }
        if (row.muted) SheetAction(R.string.unmute, R.drawable.ic_bell, pick { community.mute(row.channel, false) })
        else SheetAction(R.string.mute, R.drawable.ic_bell_off, pick { community.mute(row.channel, true) })
        if (row.threads > 0U) Text(stringResource(R.string.thread_activity), Modifier.padding(16.dp), style = MaterialTheme.typography.titleSmall)
        if (row.threads > 0U) Threads(community, row, onDismiss)
    }
}

/** A channel's threads with unread replies. Looking at them reads nothing. */
@Composable
fun ThreadActivitySheet(community: CommunityModel, row: SidebarRow, onDismiss: () -> Unit) {
    Sheet(stringResource(R.string.thread_activity), onDismiss) { Threads(community, row, onDismiss) }
}

@Composable
private fun Threads(community: CommunityModel, row: SidebarRow, onDismiss: () -> Unit) {
    val flow = remember(community, row.channel) { community.activity(row.channel).catch { emit(ThreadActivity(null)) } }
    val activity by flow.collectAsStateWithLifecycle(null)
    val threads = activity?.items
    if (activity != null && threads.isNullOrEmpty()) Text(stringResource(R.string.thread_activity_empty), Modifier.padding(16.dp))
    LazyColumn {
        items(threads.orEmpty(), { it.root }) { thread ->
            ListItem(
                { Text(thread.text, maxLines = 2, overflow = TextOverflow.Ellipsis) },
                Modifier.clickable {
                    onDismiss()
                    community.open(row.channel, thread.root)
                },
                supportingContent = { Text(repliesText(thread.count)) },
                leadingContent = { Glyph(R.drawable.ic_thread, null) },
                colors = ListItemDefaults.colors(containerColor = Color.Transparent),
            )
        }
    }
}
