package org.waggle.reader

import android.content.res.Resources
import org.json.JSONException
import org.json.JSONObject
import org.waggle.PublicKey

/**
 * A relay's notice in words. Its text is the relay's JSON, which says what happened and to whom; [names] knows people. A sort that is not
 * known here is called by its own name, and what is no JSON is shown as it is.
 */
fun noticeText(resources: Resources, text: String, names: Map<PublicKey, String>): String {
    val body = try {
        JSONObject(text)
    } catch (_: JSONException) {
        return text
    }
    val who = { field: String -> names[body.optString(field)] ?: resources.getString(R.string.notice_someone) }
    val actor = who("actor")
    val target = who("target")
    return when (val sort = body.optString("type")) {
        "" -> text
        "topic_changed" -> resources.getString(R.string.notice_topic, actor, body.optString("topic"))
        "purpose_changed" -> resources.getString(R.string.notice_purpose, actor, body.optString("purpose"))
        "member_joined" ->
            if (body.optString("actor") == body.optString("target")) resources.getString(R.string.notice_joined, target)
            else resources.getString(R.string.notice_added, actor, target)
        "member_left" -> resources.getString(R.string.notice_left, actor)
        "member_removed" -> resources.getString(R.string.notice_removed, actor, target)
        "message_deleted" -> resources.getString(R.string.notice_deleted, actor)
        "channel_created" -> resources.getString(R.string.notice_created, actor)
        else -> sort.replace('_', ' ')
    }
}
