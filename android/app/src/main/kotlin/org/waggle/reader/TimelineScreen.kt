// A channel's timeline, or a thread's.
//
// A channel's list stands on its newest row and grows upwards; a thread's begins with its root. The list says after every layout where its rows
// are; what that means is worked out in kit.
package org.waggle.reader

import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Box
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.PaddingValues
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.fillMaxSize
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.layout.size
import androidx.compose.foundation.lazy.LazyColumn
import androidx.compose.foundation.lazy.LazyListState
import androidx.compose.foundation.lazy.items
import androidx.compose.foundation.lazy.rememberLazyListState
import androidx.compose.material3.DropdownMenu
import androidx.compose.material3.ExperimentalMaterial3Api
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.Scaffold
import androidx.compose.material3.Surface
import androidx.compose.material3.Text
import androidx.compose.material3.TopAppBar
import androidx.compose.material3.pulltorefresh.PullToRefreshBox
import androidx.compose.runtime.Composable
import androidx.compose.runtime.LaunchedEffect
import androidx.compose.runtime.SideEffect
import androidx.compose.runtime.derivedStateOf
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.remember
import androidx.compose.runtime.rememberUpdatedState
import androidx.compose.runtime.setValue
import androidx.compose.runtime.snapshotFlow
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.platform.testTag
import androidx.compose.ui.res.stringResource
import androidx.compose.ui.text.style.TextOverflow
import androidx.compose.ui.unit.dp
import androidx.lifecycle.compose.collectAsStateWithLifecycle
import org.waggle.EventId
import org.waggle.TimelineRow
import org.waggle.kit.CommunityModel
import org.waggle.kit.CommunityState
import org.waggle.kit.ListLayout
import org.waggle.kit.ListMeasure
import org.waggle.kit.MeasuredItem
import org.waggle.kit.ScrollGoal
import org.waggle.kit.TimelineItem
import org.waggle.kit.TimelineModel
import org.waggle.kit.TimelineState
import org.waggle.kit.placedRows

/** Rows from the edge at which more are asked for. */
private const val AHEAD = 6

/** What kind of item a message is to the list. */
private const val MESSAGE = "message"

/** A timeline's screen. */
@OptIn(ExperimentalMaterial3Api::class)
@Composable
fun TimelineScreen(community: CommunityModel, place: CommunityState, model: TimelineModel) {
    val state by model.state.collectAsStateWithLifecycle()
    var menu by remember { mutableStateOf<TimelineRow?>(null) }
    val channel = place.row(model.channel)
    Scaffold(
        topBar = {
            TopAppBar(
                title = { Title(channel?.name.orEmpty(), model.root != null) },
                navigationIcon = { GlyphButton(R.drawable.ic_back, stringResource(R.string.back), onClick = community::back) },
                actions = { TimelineMenu(community, model, state, channel?.muted == true) },
            )
        },
    ) { padding ->
        Column(Modifier.padding(top = padding.calculateTopPadding()).fillMaxSize()) {
            StatusBanner(place.connectivity, place.sync, community::reconnect, community::retrySync)
            val failure = state.failure
            when {
                state.items.isEmpty() && failure != null -> FailurePane(failure, model::tryAgain)
                state.status == null -> Waiting()
                state.items.isEmpty() && state.status?.loading == true -> Waiting()
                state.items.isEmpty() -> MiddleNote(stringResource(R.string.timeline_empty), R.drawable.ic_thread)
                else -> PullToRefreshBox(state.refreshing, model::refresh, Modifier.fillMaxSize()) {
                    Rows(community, model, state, padding.calculateBottomPadding().value.toInt()) { menu = it }
                }
            }
        }
    }
    menu?.let { row -> MessageSheet(community, model, row) { menu = null } }
}

@Composable
private fun Title(channel: String, thread: Boolean) {
    Column {
        Text(if (thread) stringResource(R.string.thread) else channel, maxLines = 1, overflow = TextOverflow.Ellipsis)
        if (thread) Text(channel, style = MaterialTheme.typography.bodySmall, maxLines = 1, overflow = TextOverflow.Ellipsis)
    }
}

@Composable
private fun TimelineMenu(community: CommunityModel, model: TimelineModel, state: TimelineState, muted: Boolean) {
    var open by remember { mutableStateOf(false) }
    val pick: (() -> Unit) -> () -> Unit = { then -> { open = false; then() } }
    val root = model.root
    Box {
        GlyphButton(R.drawable.ic_more, stringResource(R.string.more_actions)) { open = true }
        if (open) CoversScreen()
        DropdownMenu(open, { open = false }) {
            if (root == null) {
                Action(R.string.mark_read, R.drawable.ic_check, pick { community.markRead(model.channel) })
                val mute = if (muted) R.string.unmute else R.string.mute
                Action(mute, if (muted) R.drawable.ic_bell else R.drawable.ic_bell_off, pick { community.mute(model.channel, !muted) })
            } else if (state.following != null) {
                val follow = if (state.following == true) R.string.unfollow else R.string.follow
                Action(follow, R.drawable.ic_bell, pick { community.follow(model.channel, root, state.following != true) })
            }
            Action(R.string.mark_unread, R.drawable.ic_unread, pick { community.markUnread(model.target) })
            Action(R.string.refresh, R.drawable.ic_refresh, pick(model::refresh))
            Action(R.string.diagnostics, R.drawable.ic_info, pick(community::openDiagnostics))
        }
    }
}

@Composable
private fun Rows(community: CommunityModel, model: TimelineModel, state: TimelineState, bottom: Int, onMenu: (TimelineRow) -> Unit) {
    val reversed = model.root == null
    val list = rememberLazyListState()
    val items = remember(state.items) { if (reversed) state.items.asReversed() else state.items }
    StayAtNewest(list, reversed, state.newest)
    FollowGoal(model, list, reversed, items, state.goal)
    AskForMore(model, list, state.loading)
    ReportLayout(model, list, reversed, state.newest)
    Box(Modifier.fillMaxSize()) {
        LazyColumn(
            Modifier.fillMaxSize().testTag("timeline"),
            list,
            PaddingValues(top = 8.dp, bottom = (bottom + 8).dp),
            reverseLayout = reversed,
        ) {
            items(items, { it.key }, { if (it is TimelineItem.Message) MESSAGE else it::class }) { item ->
                if (item is TimelineItem.Message) MessageRow(community, model, item.row, onMenu)
                else Mark(item, state, model)
            }
        }
        val below = Modifier.align(Alignment.BottomEnd).padding(bottom = bottom.dp)
        Jumps(model, state, list, reversed, items, Modifier.align(Alignment.TopCenter), below)
    }
}

/** Whoever looks at the newest row goes on doing so when a newer one comes. */
@Composable
private fun StayAtNewest(list: LazyListState, reversed: Boolean, newest: EventId?) {
    val seen = remember { mutableStateOf(newest) }
    SideEffect {
        if (seen.value != newest && reversed && list.firstVisibleItemIndex == 0) {
            list.requestScrollToItem(0, list.firstVisibleItemScrollOffset)
        }
        seen.value = newest
    }
}

@Composable
private fun FollowGoal(model: TimelineModel, list: LazyListState, reversed: Boolean, items: List<TimelineItem>, goal: ScrollGoal?) {
    LaunchedEffect(goal, items) {
        when (goal) {
            null -> return@LaunchedEffect
            ScrollGoal.Latest -> list.scrollToItem(if (reversed) 0 else items.lastIndex)
            ScrollGoal.FirstUnread -> {
                val at = items.indexOf(TimelineItem.FirstUnread)
                if (at < 0) return@LaunchedEffect
                // A reversed list puts an item at its lower edge; the line belongs near the upper one.
                list.scrollToItem(at, if (reversed) -list.layoutInfo.viewportSize.height * 3 / 4 else 0)
            }
        }
        model.arrived()
    }
}

@Composable
private fun AskForMore(model: TimelineModel, list: LazyListState, loading: Boolean) {
    LaunchedEffect(model, list, loading) {
        snapshotFlow { (list.layoutInfo.visibleItemsInfo.lastOrNull()?.index ?: 0) to list.layoutInfo.totalItemsCount }
            .collect { (last, total) -> if (total > 0 && last >= total - AHEAD) model.loadMore() }
    }
}

@Composable
private fun ReportLayout(model: TimelineModel, list: LazyListState, reversed: Boolean, newest: EventId?) {
    val current by rememberUpdatedState(newest)
    LaunchedEffect(model, list) {
        snapshotFlow { layoutOf(list, reversed, current) }.collect(model.reporter::layout)
    }
}

private fun layoutOf(list: LazyListState, reversed: Boolean, newest: EventId?): ListLayout {
    val info = list.layoutInfo
    val items = info.visibleItemsInfo.map { MeasuredItem((it.key as String).takeIf { _ -> it.contentType == MESSAGE }, it.offset, it.size) }
    val measure = ListMeasure(items, info.viewportStartOffset, info.viewportEndOffset, reversed)
    return ListLayout(
        rows = placedRows(measure),
        height = measure.end - measure.start,
        atEnd = if (reversed) !list.canScrollBackward else !list.canScrollForward,
        newest = newest,
        settled = !list.isScrollInProgress,
    )
}

/** Ways to where a person may want to be. */
@Composable
private fun Jumps(
    model: TimelineModel,
    state: TimelineState,
    list: LazyListState,
    reversed: Boolean,
    items: List<TimelineItem>,
    above: Modifier,
    below: Modifier,
) {
    val line by remember(items, list) {
        derivedStateOf {
            val at = items.indexOf(TimelineItem.FirstUnread)
            val last = list.layoutInfo.visibleItemsInfo.lastOrNull()?.index ?: 0
            at < 0 || at > last
        }
    }
    val away by remember(list) { derivedStateOf { list.firstVisibleItemIndex > 0 } }
    if (reversed && state.canJump && line) {
        JumpButton(R.string.jump_first_unread, R.drawable.ic_up, above, model::jumpToFirstUnread)
    }
    if (reversed && away) JumpButton(R.string.jump_latest, R.drawable.ic_down, below, model::jumpToLatest)
}

@Composable
private fun JumpButton(label: Int, glyph: Int, modifier: Modifier, onClick: () -> Unit) {
    Surface(
        onClick,
        modifier.padding(12.dp),
        shape = MaterialTheme.shapes.extraLarge,
        color = MaterialTheme.colorScheme.primaryContainer,
        shadowElevation = 4.dp,
    ) {
        Row(
            Modifier.padding(horizontal = 16.dp, vertical = 10.dp),
            verticalAlignment = Alignment.CenterVertically,
            horizontalArrangement = Arrangement.spacedBy(6.dp),
        ) {
            Glyph(glyph, null, Modifier.size(16.dp))
            Text(stringResource(label), style = MaterialTheme.typography.labelLarge)
        }
    }
}
