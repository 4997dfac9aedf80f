package org.waggle.reader

import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.PaddingValues
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.fillMaxSize
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.lazy.LazyColumn
import androidx.compose.foundation.lazy.LazyListScope
import androidx.compose.foundation.lazy.items
import androidx.compose.material3.ExperimentalMaterial3Api
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.Scaffold
import androidx.compose.material3.Text
import androidx.compose.material3.TextButton
import androidx.compose.material3.TopAppBar
import androidx.compose.runtime.Composable
import androidx.compose.runtime.DisposableEffect
import androidx.compose.runtime.getValue
import androidx.compose.ui.Modifier
import androidx.compose.ui.platform.testTag
import androidx.compose.ui.res.stringResource
import androidx.compose.ui.semantics.heading
import androidx.compose.ui.semantics.semantics
import androidx.compose.ui.text.font.FontFamily
import androidx.compose.ui.text.style.TextAlign
import androidx.compose.ui.unit.dp
import androidx.lifecycle.compose.collectAsStateWithLifecycle
import org.waggle.Connectivity
import org.waggle.LogLine
import org.waggle.SyncStatus
import org.waggle.TimelineStatus
import org.waggle.UnreadSnapshot
import org.waggle.kit.CommunityModel
import org.waggle.kit.CommunityState
import org.waggle.kit.LogModel
import org.waggle.kit.TimelineItem
import org.waggle.kit.TimelineModel
import org.waggle.kit.TimelineState

/** What the core is doing, in its own words: connection, reading marks, one channel's evidence, the log. */
@OptIn(ExperimentalMaterial3Api::class)
@Composable
fun DiagnosticsScreen(community: CommunityModel, state: CommunityState, about: TimelineModel?, log: LogModel) {
    DisposableEffect(log) {
        log.start()
        onDispose { log.stop() }
    }
    val lines by log.newest.collectAsStateWithLifecycle()
    val timeline = about?.state?.collectAsStateWithLifecycle()?.value
    val name = about?.let { state.row(it.channel)?.name }
    Scaffold(
        topBar = {
            TopAppBar(
                title = { Text(stringResource(R.string.diagnostics)) },
                navigationIcon = { GlyphButton(R.drawable.ic_back, stringResource(R.string.back), onClick = community::back) },
                actions = { TextButton(community::retrySync) { Text(stringResource(R.string.diag_publish)) } },
            )
        },
    ) { padding ->
        LazyColumn(Modifier.padding(padding).fillMaxSize().testTag("diagnostics"), contentPadding = PaddingValues(bottom = 16.dp)) {
            connection(state.connectivity)
            sync(state.sync)
            if (timeline != null) unread(name.orEmpty(), timeline.unread, timeline)
            item { Header(stringResource(R.string.diag_log)) }
            if (lines.isEmpty()) item { Fact(R.string.diag_log_empty, "") }
            items(lines) { Line(it) }
        }
    }
}

private fun LazyListScope.connection(now: Connectivity?) {
    item { Header(stringResource(R.string.diag_connection)) }
    item { Fact(R.string.diag_phase, now?.phase?.let(::words)) }
    item { Fact(R.string.diag_sentence, now?.sentence) }
    val repair = now?.repair ?: return
    item { Fact(R.string.diag_repair, stringResource(R.string.diag_of, repair.done.toInt(), repair.total.toInt())) }
}

private fun LazyListScope.sync(now: SyncStatus?) {
    item { Header(stringResource(R.string.diag_sync)) }
    item { Fact(R.string.diag_state, now?.state?.let(::words)) }
    item { Fact(R.string.diag_completeness, now?.completeness?.let(::words)) }
    item { Fact(R.string.diag_capability, now?.capability?.let(::words)) }
    item { Fact(R.string.diag_pending, now?.pending?.let { yesNo(it) }) }
    now?.error?.let { item { Fact(R.string.diag_error, it.sentence) } }
}

private fun LazyListScope.unread(channel: String, now: UnreadSnapshot?, timeline: TimelineState) {
    item { Header("${stringResource(R.string.diag_unread)} · $channel") }
    item { Fact(R.string.diag_observed, now?.observed?.toString()) }
    item { Fact(R.string.diag_attention, now?.attention?.toString()) }
    item { Fact(R.string.diag_coverage, now?.coverage?.let(::words)) }
    item { Fact(R.string.diag_freshness, now?.freshness?.let(::words)) }
    item { Fact(R.string.diag_manual, now?.manual?.let(::words)) }
    item { Fact(R.string.diag_rows, timeline.items.count { it is TimelineItem.Message }.toString()) }
    val status: TimelineStatus = timeline.status ?: return
    item { Fact(R.string.diag_more, words(status.more)) }
    item { Fact(R.string.diag_trust, words(status.trust)) }
    val error = now?.error ?: status.error ?: return
    item { Fact(R.string.diag_error, error.sentence) }
}

/** A constant's name as words; these are for whoever looks for a fault, so they stay those of the documentation. */
private fun words(constant: Enum<*>): String = constant.name.lowercase().replace('_', ' ')

@Composable
private fun yesNo(yes: Boolean) = stringResource(if (yes) R.string.yes else R.string.no)

@Composable
private fun Header(text: String) {
    Text(
        text,
        Modifier.padding(start = 16.dp, end = 16.dp, top = 20.dp, bottom = 4.dp).semantics { heading() },
        style = MaterialTheme.typography.titleSmall,
        color = MaterialTheme.colorScheme.primary,
    )
}

@Composable
private fun Fact(label: Int, value: String?) {
    Row(
        Modifier.fillMaxWidth().padding(horizontal = 16.dp, vertical = 6.dp).semantics(mergeDescendants = true) {},
        horizontalArrangement = Arrangement.spacedBy(16.dp),
    ) {
        Text(stringResource(label), style = MaterialTheme.typography.bodyMedium, color = MaterialTheme.colorScheme.onSurfaceVariant)
        Text(
            value ?: stringResource(R.string.unknown),
            Modifier.weight(1f),
            style = MaterialTheme.typography.bodyMedium,
            textAlign = TextAlign.End,
        )
    }
}

@Composable
private fun Line(line: LogLine) {
    Text(
        "${rememberFormats().stamp(line.at)} ${line.level.name.take(1)} ${line.message}",
        Modifier.padding(horizontal = 16.dp, vertical = 2.dp),
        style = MaterialTheme.typography.bodySmall,
        fontFamily = FontFamily.Monospace,
    )
}
