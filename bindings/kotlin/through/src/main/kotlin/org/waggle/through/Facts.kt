package org.waggle.through

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonObjectBuilder
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject
import org.waggle.Sidebar
import org.waggle.SyncStatus
import org.waggle.ThreadActivity
import org.waggle.TimelineRow
import org.waggle.TimelineSnapshot
import org.waggle.UnreadSnapshot

/** The operation is done. */
internal val DONE: JsonElement = JsonPrimitive("done")

/** It failed; with the stable code where it was Waggle that failed. */
internal fun failed(code: String?, text: String): JsonElement = buildJsonObject {
    putJsonObject("failed") {
        put("code", code)
        put("text", text)
    }
}

/** What was seen. */
internal fun seen(fact: JsonObject): JsonElement = buildJsonObject { put("seen", fact) }

private fun fact(name: String, fill: JsonObjectBuilder.() -> Unit): JsonObject = buildJsonObject {
    put("fact", name)
    fill()
}

/** An enum's value as scenario files write it. */
private val Enum<*>.word: String get() = name.lowercase().replace('_', '-')

private fun JsonObjectBuilder.count(key: String, value: UInt?) {
    put(key, value?.toLong())
}

internal fun unreadFact(snapshot: UnreadSnapshot): JsonObject = fact("unread") {
    count("observed", snapshot.observed)
    count("attention", snapshot.attention)
    put("latest", snapshot.latest)
    put("coverage", snapshot.coverage.word)
    put("freshness", snapshot.freshness.word)
    put("manual", snapshot.manual.word)
    put("pending", snapshot.pending)
    put("error", snapshot.error != null)
}

internal fun timelineFact(now: TimelineSnapshot): JsonObject = fact("timeline") {
    put("rows", JsonArray(now.rows.map(::row)))
    put("more", now.status.more.word)
    put("gap", now.status.gap != null)
    put("first_unread", now.status.firstUnread)
}

private fun row(row: TimelineRow): JsonObject = buildJsonObject {
    put("id", row.id)
    put("text", row.text)
    put("edited", row.edited)
    count("replies", row.replies)
    putJsonObject("reactions") { row.reactions.forEach { count(it.emoji, it.count) } }
    put("thread_dot", row.threadDot)
}

internal fun activityFact(activity: ThreadActivity): JsonObject = fact("activity") {
    val items = activity.items?.map {
        buildJsonObject {
            put("root", it.root)
            put("latest", it.latest)
            count("count", it.count)
        }
    }
    put("items", items?.let(::JsonArray) ?: JsonNull)
}

internal fun sidebarFact(sidebar: Sidebar): JsonObject = fact("sidebar") {
    val rows = sidebar.rows.map {
        buildJsonObject {
            put("channel", it.channel)
            put("strong", it.strong)
            put("dot", it.dot)
            put("bell", it.bell)
            put("counted", it.counted)
        }
    }
    put("rows", JsonArray(rows))
}

internal fun followingFact(value: Boolean): JsonObject = fact("following") { put("value", value) }

internal fun syncFact(status: SyncStatus): JsonObject = fact("sync") {
    put("state", status.state.word)
    put("completeness", status.completeness.word)
    put("pending", status.pending)
    put("capability", status.capability.word)
}
