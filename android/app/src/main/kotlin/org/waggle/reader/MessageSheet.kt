package org.waggle.reader

import androidx.compose.runtime.Composable
import androidx.compose.runtime.getValue
import androidx.compose.runtime.produceState
import androidx.compose.runtime.rememberCoroutineScope
import androidx.compose.ui.platform.LocalClipboard
import androidx.compose.ui.res.stringResource
import kotlinx.coroutines.launch
import org.waggle.TimelineRow
import org.waggle.kit.CommunityModel
import org.waggle.kit.TimelineModel

/** What can be done with a message. */
@Composable
fun MessageSheet(community: CommunityModel, model: TimelineModel, row: TimelineRow, onDismiss: () -> Unit) {
    val clipboard = LocalClipboard.current
    val scope = rememberCoroutineScope()
    val pick: (() -> Unit) -> () -> Unit = { then -> { onDismiss(); then() } }
    val root = model.root ?: row.threadRoot ?: row.id
    val following by produceState<Boolean?>(null, row.id) { value = community.following(model.channel, root) }
    Sheet(stringResource(R.string.message_actions), onDismiss) {
        if (model.root == null) SheetAction(R.string.open_thread, R.drawable.ic_thread, pick { community.open(model.channel, root) })
        if (!row.quiet) {
            SheetAction(R.string.mark_unread, R.drawable.ic_unread, pick { community.markMessageUnread(model.channel, row.id) })
            SheetAction(R.string.mark_through, R.drawable.ic_check_all, pick { community.markThrough(model.target, row.id) })
        }
        following?.let { follows ->
            val label = if (follows) R.string.unfollow else R.string.follow
            SheetAction(label, if (follows) R.drawable.ic_bell_off else R.drawable.ic_bell, pick { community.follow(model.channel, root, !follows) })
        }
        SheetAction(R.string.copy_text, R.drawable.ic_copy) {
            scope.launch {
                clipboard.setClipEntry(textClip(row.text))
                community.copied()
                onDismiss()
            }
        }
    }
}
