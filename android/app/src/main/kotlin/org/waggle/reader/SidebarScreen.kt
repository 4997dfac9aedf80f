package org.waggle.reader

import androidx.compose.foundation.ExperimentalFoundationApi
import androidx.compose.foundation.combinedClickable
import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Box
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.PaddingValues
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.fillMaxSize
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.heightIn
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.layout.size
import androidx.compose.foundation.lazy.LazyColumn
import androidx.compose.foundation.lazy.LazyListState
import androidx.compose.foundation.lazy.items
import androidx.compose.foundation.lazy.rememberLazyListState
import androidx.compose.material3.DropdownMenu
import androidx.compose.material3.DropdownMenuItem
import androidx.compose.material3.ExperimentalMaterial3Api
import androidx.compose.material3.HorizontalDivider
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.Scaffold
import androidx.compose.material3.Surface
import androidx.compose.material3.Text
import androidx.compose.material3.TextButton
import androidx.compose.material3.TopAppBar
import androidx.compose.material3.pulltorefresh.PullToRefreshBox
import androidx.compose.runtime.Composable
import androidx.compose.runtime.LaunchedEffect
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.remember
import androidx.compose.runtime.rememberCoroutineScope
import androidx.compose.runtime.rememberUpdatedState
import androidx.compose.runtime.setValue
import androidx.compose.runtime.snapshotFlow
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.platform.testTag
import androidx.compose.ui.res.stringResource
import androidx.compose.ui.semantics.clearAndSetSemantics
import androidx.compose.ui.semantics.contentDescription
import androidx.compose.ui.semantics.heading
import androidx.compose.ui.semantics.semantics
import androidx.compose.ui.text.font.FontWeight
import androidx.compose.ui.text.style.TextOverflow
import androidx.compose.ui.unit.dp
import androidx.lifecycle.compose.collectAsStateWithLifecycle
import kotlinx.coroutines.launch
import org.waggle.ChannelType
import org.waggle.Cue
import org.waggle.Cues
import org.waggle.SidebarRow
import org.waggle.SidebarSection
import org.waggle.kit.CommunityModel
import org.waggle.kit.CommunityState
import org.waggle.kit.ReaderModel
import org.waggle.kit.SidebarGroup

/** Room below the last row, in which a cue floats. */
private const val CUE_SPACE = 64

/** What a person has open over the channel list. */
private sealed interface Sheet {
    data class Actions(val row: SidebarRow) : Sheet

    data class Threads(val row: SidebarRow) : Sheet
}

/** The channel list. */
@OptIn(ExperimentalMaterial3Api::class)
@Composable
fun SidebarScreen(community: CommunityModel, state: CommunityState, reader: ReaderModel) {
    var sheet by remember { mutableStateOf<Sheet?>(null) }
    Scaffold(
        topBar = {
            TopAppBar(
                title = { CommunitySwitcher(community, reader) },
                actions = { SidebarMenu(community, reader) },
            )
        },
    ) { padding ->
        Column(Modifier.padding(top = padding.calculateTopPadding()).fillMaxSize()) {
            StatusBanner(state.connectivity, state.sync, community::reconnect, community::retrySync)
            val failure = state.failure
            val groups = state.groups
            when {
                failure != null -> FailurePane(failure, community::start)
                groups == null -> Waiting()
                groups.isEmpty() -> MiddleNote(stringResource(R.string.sidebar_empty), R.drawable.ic_hash)
                else -> PullToRefreshBox(state.refreshing, community::refresh, Modifier.fillMaxSize()) {
                    ChannelList(community, groups, padding.calculateBottomPadding().value.toInt()) { sheet = it }
                }
            }
        }
    }
    when (val open = sheet) {
        is Sheet.Actions -> ChannelSheet(community, open.row) { sheet = null }
        is Sheet.Threads -> ThreadActivitySheet(community, open.row) { sheet = null }
        null -> Unit
    }
}

@Composable
private fun CommunitySwitcher(community: CommunityModel, reader: ReaderModel) {
    val state by reader.state.collectAsStateWithLifecycle()
    var open by remember { mutableStateOf(false) }
    Box {
        TextButton({ open = true }) {
            Text(
                hostName(community.host),
                style = MaterialTheme.typography.titleLarge,
                color = MaterialTheme.colorScheme.onSurface,
                maxLines = 1,
                overflow = TextOverflow.Ellipsis,
            )
            Glyph(R.drawable.ic_expand, stringResource(R.string.switch_community), Modifier.padding(start = 4.dp))
        }
        DropdownMenu(open, { open = false }) {
            state.communities.forEach { host ->
                DropdownMenuItem({ Text(hostName(host)) }, {
                    open = false
                    reader.switchTo(host)
                }, leadingIcon = { Avatar(host, hostName(host), 28.dp) })
            }
            HorizontalDivider()
            Action(R.string.add_community, R.drawable.ic_add) {
                open = false
                reader.chooseCommunity()
            }
        }
    }
}

@Composable
private fun SidebarMenu(community: CommunityModel, reader: ReaderModel) {
    var open by remember { mutableStateOf(false) }
    var asking by remember { mutableStateOf<Int?>(null) }
    val pick: (() -> Unit) -> () -> Unit = { then -> { open = false; then() } }
    Box {
        GlyphButton(R.drawable.ic_more, stringResource(R.string.more_actions)) { open = true }
        DropdownMenu(open, { open = false }) {
            Action(R.string.mark_all_read, R.drawable.ic_check_all, pick { asking = R.string.mark_all_read })
            Action(R.string.refresh, R.drawable.ic_refresh, pick(community::refresh))
            Action(R.string.diagnostics, R.drawable.ic_info, pick(community::openDiagnostics))
            Action(R.string.leave_community, R.drawable.ic_leave, pick(reader::leaveCommunity))
            Action(R.string.sign_out, R.drawable.ic_person, pick { asking = R.string.sign_out })
        }
    }
    when (asking) {
        R.string.mark_all_read ->
            Confirm(R.string.mark_all_read, R.string.mark_all_read_text, { asking = null }, community::markAllRead)
        R.string.sign_out -> Confirm(R.string.sign_out, R.string.sign_out_text, { asking = null }, reader::signOut)
    }
}

/** A line of a menu. */
@Composable
fun Action(label: Int, glyph: Int, onClick: () -> Unit) {
    DropdownMenuItem({ Text(stringResource(label)) }, onClick, leadingIcon = { Glyph(glyph, null) })
}

@Composable
private fun ChannelList(community: CommunityModel, groups: List<SidebarGroup>, bottom: Int, onSheet: (Sheet) -> Unit) {
    val list = rememberLazyListState()
    val rows = remember(groups) { groups.flatMap { it.rows } }
    val cues = rememberCues(community, list, rows)
    val scope = rememberCoroutineScope()
    val show: (Cue) -> Unit = { cue ->
        val at = indexOf(groups, cue.target?.channel)
        if (at >= 0) scope.launch { list.animateScrollToItem(at, -list.layoutInfo.viewportSize.height / 2) }
    }
    Box(Modifier.fillMaxSize()) {
        LazyColumn(Modifier.fillMaxSize().testTag("channels"), list, PaddingValues(bottom = (bottom + CUE_SPACE).dp)) {
            groups.forEach { group ->
                item("section ${group.section}", "section") { SectionHeader(group.section) }
                items(group.rows, { it.channel }, { "row" }) { row ->
                    ChannelRow(
                        row,
                        onOpen = { community.open(row.channel) },
                        onActions = { onSheet(Sheet.Actions(row)) },
                        onThreads = { onSheet(Sheet.Threads(row)) },
                    )
                }
            }
        }
        CueButton(cues?.above, R.drawable.ic_up, rows, Modifier.align(Alignment.TopCenter), show)
        CueButton(cues?.below, R.drawable.ic_down, rows, Modifier.align(Alignment.BottomCenter).padding(bottom = bottom.dp), show)
    }
}

/** The place of a channel among the list's items, headers included. */
private fun indexOf(groups: List<SidebarGroup>, channel: String?): Int {
    var index = 0
    for (group in groups) {
        val within = group.rows.indexOfFirst { it.channel == channel }
        if (within >= 0) return index + 1 + within
        index += 1 + group.rows.size
    }
    return -1
}

/** What lies beyond the edges, by the core, for the rows that show now. */
@Composable
private fun rememberCues(community: CommunityModel, list: LazyListState, rows: List<SidebarRow>): Cues? {
    var cues by remember { mutableStateOf<Cues?>(null) }
    val current by rememberUpdatedState(rows)
    LaunchedEffect(list, community) {
        snapshotFlow {
            val info = list.layoutInfo
            val shown = info.visibleItemsInfo.filter {
                it.contentType == "row" && it.offset + it.size > 0 && it.offset < info.viewportEndOffset
            }
            val at = { key: Any? -> current.indexOfFirst { it.channel == key } }
            Triple(at(shown.firstOrNull()?.key), at(shown.lastOrNull()?.key), current)
        }.collect { (first, last) -> cues = community.cues(first.coerceAtLeast(0), last) }
    }
    return cues
}

@Composable
private fun CueButton(cue: Cue?, glyph: Int, rows: List<SidebarRow>, modifier: Modifier, onShow: (Cue) -> Unit) {
    if (cue == null || cue.count == 0U) return
    val colours = MaterialTheme.colorScheme
    Surface(
        { onShow(cue) },
        modifier.padding(8.dp),
        shape = MaterialTheme.shapes.extraLarge,
        color = if (cue.attention) colours.primary else colours.secondaryContainer,
        shadowElevation = 4.dp,
    ) {
        Row(
            Modifier.padding(horizontal = 16.dp, vertical = 10.dp).clearAndSetSemantics { contentDescription = cue.accessibleName },
            verticalAlignment = Alignment.CenterVertically,
            horizontalArrangement = Arrangement.spacedBy(6.dp),
        ) {
            cue.previews.forEach { person ->
                val name = rows.find { it.participants == listOf(person) }?.name ?: return@forEach
                Avatar(person, name, 20.dp)
            }
            Text(stringResource(R.string.cue_unread, cue.count.toString()), style = MaterialTheme.typography.labelLarge)
            Glyph(glyph, null, Modifier.size(16.dp))
        }
    }
}

@Composable
private fun SectionHeader(section: SidebarSection) {
    val title = when (section) {
        SidebarSection.PROMOTED -> R.string.section_promoted
        SidebarSection.CHANNELS -> R.string.section_channels
        SidebarSection.DIRECT_MESSAGES -> R.string.section_direct
        SidebarSection.SOLO -> R.string.section_solo
        SidebarSection.OPEN -> R.string.section_open
        SidebarSection.ARCHIVED -> R.string.section_archived
    }
    Text(
        stringResource(title),
        Modifier.padding(start = 16.dp, top = 20.dp, bottom = 6.dp).semantics { heading() },
        style = MaterialTheme.typography.titleSmall,
        color = MaterialTheme.colorScheme.primary,
    )
}

@OptIn(ExperimentalFoundationApi::class)
@Composable
private fun ChannelRow(row: SidebarRow, onOpen: () -> Unit, onActions: () -> Unit, onThreads: () -> Unit) {
    val colours = MaterialTheme.colorScheme
    val ink = if (row.strong) colours.onSurface else colours.onSurfaceVariant
    Row(Modifier.fillMaxWidth(), verticalAlignment = Alignment.CenterVertically) {
        Row(
            Modifier.weight(1f)
                .combinedClickable(onClick = onOpen, onLongClick = onActions, onLongClickLabel = stringResource(R.string.channel_actions))
                .clearAndSetSemantics { contentDescription = row.accessibleName }
                .heightIn(min = 48.dp)
                .padding(start = 16.dp, end = 8.dp, top = 6.dp, bottom = 6.dp),
            verticalAlignment = Alignment.CenterVertically,
            horizontalArrangement = Arrangement.spacedBy(12.dp),
        ) {
            if (row.channelType == ChannelType.DM) Avatar(row.participants.joinToString(), row.name, 28.dp)
            else Box(Modifier.size(28.dp), contentAlignment = Alignment.Center) { Glyph(R.drawable.ic_hash, null, Modifier.size(20.dp), ink) }
            Text(
                row.name,
                Modifier.weight(1f, fill = false),
                color = ink,
                fontWeight = if (row.strong) FontWeight.Bold else FontWeight.Normal,
                style = MaterialTheme.typography.bodyLarge,
                maxLines = 1,
                overflow = TextOverflow.Ellipsis,
            )
            if (row.bell) Glyph(R.drawable.ic_bell_off, null, Modifier.size(16.dp), colours.outline)
            if (row.dot) AccentDot()
        }
        if (row.threads > 0U) GlyphButton(R.drawable.ic_thread, stringResource(R.string.thread_activity), colours.onSurfaceVariant, onThreads)
        else Box(Modifier.size(48.dp))
    }
}
