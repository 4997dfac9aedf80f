// The rows of a timeline, and the marks between them.
package org.waggle.reader

import androidx.compose.foundation.ExperimentalFoundationApi
import androidx.compose.foundation.background
import androidx.compose.foundation.combinedClickable
import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Box
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.ExperimentalLayoutApi
import androidx.compose.foundation.layout.FlowRow
import androidx.compose.foundation.layout.Row
import androidx.compose.foundation.layout.RowScope
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.layout.size
import androidx.compose.foundation.layout.width
import androidx.compose.material3.CircularProgressIndicator
import androidx.compose.material3.HorizontalDivider
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.Surface
import androidx.compose.material3.Text
import androidx.compose.material3.TextButton
import androidx.compose.runtime.Composable
import androidx.compose.runtime.remember
import androidx.compose.runtime.staticCompositionLocalOf
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.graphics.Color
import androidx.compose.ui.platform.LocalConfiguration
import androidx.compose.ui.res.pluralStringResource
import androidx.compose.ui.res.stringResource
import androidx.compose.ui.semantics.heading
import androidx.compose.ui.semantics.semantics
import androidx.compose.ui.semantics.stateDescription
import androidx.compose.ui.text.SpanStyle
import androidx.compose.ui.text.buildAnnotatedString
import androidx.compose.ui.text.font.FontFamily
import androidx.compose.ui.text.font.FontStyle
import androidx.compose.ui.text.font.FontWeight
import androidx.compose.ui.text.style.TextAlign
import androidx.compose.ui.text.style.TextOverflow
import androidx.compose.ui.text.withStyle
import androidx.compose.ui.unit.dp
import java.time.Instant
import java.time.ZoneId
import java.time.ZoneOffset
import org.waggle.RowKind
import org.waggle.TimelineRow
import org.waggle.kit.CommunityModel
import org.waggle.kit.Formats
import org.waggle.kit.TimelineItem
import org.waggle.kit.TimelineModel
import org.waggle.kit.TimelineState

/** The time zone of this window. */
val LocalOffset = staticCompositionLocalOf<ZoneOffset> { ZoneId.systemDefault().rules.getOffset(Instant.now()) }

/** How this window writes times. */
@Composable
fun rememberFormats(): Formats {
    val locale = LocalConfiguration.current.locales[0]
    val offset = LocalOffset.current
    return remember(locale, offset) { Formats(locale, offset) }
}

/** "3 replies". */
@Composable
fun repliesText(count: UInt): String = pluralStringResource(R.plurals.replies, count.toInt(), rememberFormats().count(count))

/** One row, by its kind. */
@OptIn(ExperimentalFoundationApi::class)
@Composable
fun MessageRow(community: CommunityModel, model: TimelineModel, row: TimelineRow, onMenu: (TimelineRow) -> Unit) {
    if (row.kind == RowKind.NOTICE) return NoticeRow(row)
    val threadOf = row.threadRoot ?: row.id
    val openThread = { community.open(model.channel, threadOf) }
    val highlight = if (row.mentioned) MaterialTheme.colorScheme.primaryContainer.copy(alpha = 0.45f) else Color.Transparent
    Row(
        Modifier.fillMaxWidth()
            .background(highlight)
            .combinedClickable(
                onClick = { if (model.root == null) openThread() else onMenu(row) },
                onClickLabel = stringResource(if (model.root == null) R.string.open_thread else R.string.message_actions),
                onLongClick = { onMenu(row) },
                onLongClickLabel = stringResource(R.string.message_actions),
            )
            .padding(start = 16.dp, end = 16.dp, top = if (row.grouped) 2.dp else 10.dp, bottom = 2.dp),
        horizontalArrangement = Arrangement.spacedBy(12.dp),
    ) {
        Box(Modifier.width(36.dp)) { if (!row.grouped) Avatar(row.author, row.authorName) }
        Column(Modifier.weight(1f)) {
            if (!row.grouped) Byline(row)
            if (row.threadRoot != null && model.root == null) {
                Text(
                    stringResource(R.string.replied_in_thread),
                    style = MaterialTheme.typography.labelMedium,
                    color = MaterialTheme.colorScheme.onSurfaceVariant,
                    fontStyle = FontStyle.Italic,
                )
            }
            Body(row)
            Reactions(row)
            if (model.root == null && row.replies > 0U) ReplyButton(row, openThread)
        }
    }
}

@Composable
private fun Byline(row: TimelineRow) {
    Row(verticalAlignment = Alignment.CenterVertically, horizontalArrangement = Arrangement.spacedBy(8.dp)) {
        Text(
            row.authorName,
            Modifier.weight(1f, fill = false),
            style = MaterialTheme.typography.titleSmall,
            fontWeight = FontWeight.Bold,
            maxLines = 1,
            overflow = TextOverflow.Ellipsis,
        )
        val time = rememberFormats().time(row.createdAt)
        Text(
            if (row.kind == RowKind.HUDDLE) stringResource(R.string.huddle, time) else time,
            style = MaterialTheme.typography.labelSmall,
            color = MaterialTheme.colorScheme.onSurfaceVariant,
        )
    }
}

@Composable
private fun Body(row: TimelineRow) {
    val edited = stringResource(R.string.edited)
    val faint = MaterialTheme.colorScheme.onSurfaceVariant
    val small = MaterialTheme.typography.labelSmall.fontSize
    Text(
        buildAnnotatedString {
            append(row.text)
            if (row.edited) withStyle(SpanStyle(color = faint, fontSize = small)) { append("  $edited") }
        },
        style = MaterialTheme.typography.bodyLarge,
        fontFamily = if (row.kind == RowKind.DIFF) FontFamily.Monospace else null,
        color = if (row.quiet || row.kind == RowKind.JOB) faint else MaterialTheme.colorScheme.onSurface,
    )
}

@OptIn(ExperimentalLayoutApi::class)
@Composable
private fun Reactions(row: TimelineRow) {
    if (row.reactions.isEmpty()) return
    val colours = MaterialTheme.colorScheme
    FlowRow(
        Modifier.padding(top = 4.dp, bottom = 2.dp),
        horizontalArrangement = Arrangement.spacedBy(6.dp),
        verticalArrangement = Arrangement.spacedBy(4.dp),
    ) {
        row.reactions.forEach { reaction ->
            Surface(
                color = if (reaction.mine) colours.primaryContainer else colours.surfaceContainerHigh,
                shape = MaterialTheme.shapes.large,
            ) {
                Text(
                    "${reaction.emoji} ${reaction.count}",
                    Modifier.padding(horizontal = 10.dp, vertical = 3.dp),
                    style = MaterialTheme.typography.labelMedium,
                )
            }
        }
    }
}

@Composable
private fun ReplyButton(row: TimelineRow, onClick: () -> Unit) {
    val text = repliesText(row.replies)
    val unread = stringResource(R.string.unread_replies)
    Surface(
        onClick,
        Modifier.padding(top = 4.dp).semantics { if (row.threadDot) stateDescription = unread },
        shape = MaterialTheme.shapes.large,
        color = MaterialTheme.colorScheme.surfaceContainer,
    ) {
        Row(
            Modifier.padding(horizontal = 10.dp, vertical = 6.dp),
            verticalAlignment = Alignment.CenterVertically,
            horizontalArrangement = Arrangement.spacedBy(8.dp),
        ) {
            Glyph(R.drawable.ic_thread, null, Modifier.size(16.dp), MaterialTheme.colorScheme.primary)
            Text(text, style = MaterialTheme.typography.labelLarge, color = MaterialTheme.colorScheme.primary)
            if (row.threadDot) AccentDot()
        }
    }
}

@Composable
private fun NoticeRow(row: TimelineRow) {
    Text(
        row.text,
        Modifier.fillMaxWidth().padding(horizontal = 32.dp, vertical = 8.dp),
        style = MaterialTheme.typography.bodySmall,
        color = MaterialTheme.colorScheme.onSurfaceVariant,
        textAlign = TextAlign.Center,
    )
}

/** What stands between rows. */
@Composable
fun Mark(item: TimelineItem, state: TimelineState, model: TimelineModel) {
    val colours = MaterialTheme.colorScheme
    when (item) {
        is TimelineItem.Message -> Unit
        is TimelineItem.Day -> Line(colours.outlineVariant) { Caption(dayText(item), colours.onSurfaceVariant, heading = true) }
        TimelineItem.FirstUnread -> Line(colours.primary) { Caption(stringResource(R.string.first_unread), colours.primary, heading = true) }
        TimelineItem.Gap -> Line(colours.outlineVariant) {
            Caption(stringResource(R.string.gap), colours.onSurfaceVariant)
            TextButton(model::tryAgain) { Text(stringResource(R.string.gap_fill)) }
        }
        TimelineItem.Beginning -> Centred { Caption(stringResource(R.string.beginning), colours.onSurfaceVariant) }
        TimelineItem.Uncertain -> if (state.loading || state.status?.loading == true) Continues(state, model) else Centred {
            Caption(stringResource(R.string.uncertain), colours.onSurfaceVariant)
            TextButton(model::tryAgain) { Text(stringResource(R.string.gap_fill)) }
        }
        TimelineItem.Continues -> Continues(state, model)
    }
}

/** The list goes on: it is loading, or it says why not. */
@Composable
private fun Continues(state: TimelineState, model: TimelineModel) = Centred {
    val failure = state.failure
    if (failure == null) {
        CircularProgressIndicator(Modifier.size(18.dp), strokeWidth = 2.dp)
        Caption(stringResource(R.string.loading_more), MaterialTheme.colorScheme.onSurfaceVariant)
    } else {
        Box(Modifier.weight(1f, fill = false)) { Caption(failure.sentence, MaterialTheme.colorScheme.error) }
        TextButton(model::tryAgain) { Text(stringResource(R.string.try_again)) }
    }
}

@Composable
private fun dayText(item: TimelineItem.Day): String {
    val formats = rememberFormats()
    return when (formats.near(item.date, Instant.now())) {
        Formats.Near.TODAY -> stringResource(R.string.today)
        Formats.Near.YESTERDAY -> stringResource(R.string.yesterday)
        Formats.Near.NEITHER -> formats.day(item.date)
    }
}

@Composable
private fun Caption(text: String, colour: Color, heading: Boolean = false) {
    val modifier = if (heading) Modifier.semantics { heading() } else Modifier
    Text(text, modifier, style = MaterialTheme.typography.labelMedium, color = colour, textAlign = TextAlign.Center)
}

@Composable
private fun Line(colour: Color, content: @Composable RowScope.() -> Unit) {
    Row(
        Modifier.fillMaxWidth().padding(horizontal = 16.dp, vertical = 8.dp),
        verticalAlignment = Alignment.CenterVertically,
        horizontalArrangement = Arrangement.spacedBy(12.dp),
    ) {
        HorizontalDivider(Modifier.weight(1f), color = colour)
        content()
        HorizontalDivider(Modifier.weight(1f), color = colour)
    }
}

@Composable
private fun Centred(content: @Composable RowScope.() -> Unit) {
    Row(
        Modifier.fillMaxWidth().padding(horizontal = 16.dp, vertical = 12.dp),
        verticalAlignment = Alignment.CenterVertically,
        horizontalArrangement = Arrangement.spacedBy(12.dp, Alignment.CenterHorizontally),
        content = content,
    )
}
