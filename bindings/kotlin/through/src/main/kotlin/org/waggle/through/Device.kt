package org.waggle.through

import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.launch
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.boolean
import kotlinx.serialization.json.intOrNull
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.waggle.PresentationClass
import org.waggle.Session
import org.waggle.SessionException
import org.waggle.Target
import org.waggle.Viewport
import org.waggle.Waggle
import org.waggle.WaggleSurface
import org.waggle.WaggleTimeline
import org.waggle.waggleFailure
import org.waggle.ffi.Client
import org.waggle.through.ffi.Activity
import org.waggle.through.ffi.DeviceApp
import org.waggle.through.ffi.Question

/** How long a suspended app gives its session. */
private val BUDGET = 5.seconds

/** A timeline or surface: a channel's, or a thread's when it has a root. */
private data class Place(val channel: String, val root: String?)

/** What runs between start and end of an app. */
private class Live(val client: Waggle, val session: Session) {
    val timelines = mutableMapOf<Place, WaggleTimeline>()
    val surfaces = mutableMapOf<Place, WaggleSurface>()
}

/** One device of a scenario, as an app on the Kotlin layer. Everything of it runs on one counted thread. */
internal class Device(activity: Activity) : DeviceApp {
    private val scope = CoroutineScope(Counted(activity) + SupervisorJob())
    private var live: Live? = null

    override fun start(client: Client, origin: String, question: Question) = question.answeredBy {
        val waggle = Waggle(client)
        val session = waggle.session(origin)
        session.start()
        live = Live(waggle, session)
        DONE
    }

    override fun ask(line: String, question: Question) = question.answeredBy {
        val ask = Json.parseToJsonElement(line).jsonObject
        val live = checkNotNull(live) { "the device is not running" }
        val seen = ask["observe"]
        if (seen != null) seen(look(live, seen.text, ask)) else DONE.also { carryOut(live, ask.text("op"), ask) }
    }

    override fun gone() {
        // What still waits for the killed session ends with it; nobody is left to hear of it.
        scope.coroutineContext.cancelChildren()
        scope.launch { live = null }
    }

    private fun Question.answeredBy(work: suspend () -> JsonElement) {
        scope.launch {
            val reply = try {
                work()
            } catch (e: Exception) {
                failed(e.waggleFailure?.code, e.toString())
            }
            answer(reply.toString())
        }
    }

    private suspend fun carryOut(live: Live, op: String, ask: JsonObject) {
        val session = live.session
        when (op) {
            "stop" -> session.close()
            "leave" -> session.leave()
            "suspend" -> session.pause(BUDGET)
            "resume" -> session.resume()
            "ensure" -> session.ensure()
            "refresh" -> session.refresh()
            "retry_sync" -> session.retrySync()
            "flush" -> session.flush()
            "settle_lookups" -> session.settleLookups()
            "open" -> open(live, ask.place, ask.getValue("limit").jsonPrimitive.intOrNull)
            "older" -> live.timelines.getValue(ask.place).loadOlder()
            "close" -> live.timelines.remove(ask.place)?.close()
            "show" -> show(live, ask.place, ask.getValue("viewport").jsonObject)
            "hide" -> live.surfaces.remove(ask.place)?.close()
            "mark_through" -> session.markThrough(ask.target, ask.text("message"))
            "mark_channel_read" -> session.markChannelRead(ask.text("channel"))
            "mark_all_read" -> session.markAllChannelsRead()
            "mark_unread" -> session.markUnread(ask.target)
            "clear_unread" -> session.clearUnread(ask.target)
            "follow" -> session.follow(ask.text("channel"), ask.text("root"), ask.flag("value"))
            "mute" -> session.mute(ask.text("channel"), ask.flag("value"))
            "present_as" -> session.presentAs(ask.text("channel"), PresentationClass.valueOf(ask.text("class").uppercase()))
            else -> error("no such operation: $op")
        }
    }

    private suspend fun open(live: Live, place: Place, limit: Int?) {
        live.timelines.remove(place)?.close()
        live.timelines[place] = when (val root = place.root) {
            null -> live.session.timeline(place.channel, limit)
            else -> live.session.thread(place.channel, root, limit)
        }
    }

    private suspend fun show(live: Live, place: Place, shown: JsonObject) {
        val surface = live.surfaces[place] ?: try {
            live.session.surface(place.channel, place.root).also { live.surfaces[place] = it }
        } catch (_: SessionException.Denied) {
            // There is nothing to read where there is no access.
            return
        }
        val rows = shown.getValue("rows").jsonArray.map { it.text }
        surface.report(Viewport(shown.flag("active"), shown.flag("settled"), rows, shown["bottom"]?.textOrNull))
    }

    private suspend fun look(live: Live, what: String, ask: JsonObject): JsonObject = when (what) {
        "unread" -> unreadFact(live.session.snapshot(ask.target))
        "timeline" -> timelineFact(live.timelines.getValue(ask.place).now())
        "activity" -> activityFact(live.session.activity(ask.text("channel")))
        "sidebar" -> sidebarFact(live.session.sidebarNow())
        "following" -> followingFact(live.session.following(ask.text("channel"), ask.text("root")))
        "sync" -> syncFact(live.session.syncNow())
        else -> error("nothing to see: $what")
    }
}

private val JsonElement.text: String get() = jsonPrimitive.content

private val JsonElement.textOrNull: String? get() = if (this is JsonNull) null else text

private fun JsonObject.text(key: String): String = getValue(key).text

private fun JsonObject.flag(key: String): Boolean = getValue(key).jsonPrimitive.boolean

private val JsonObject.place: Place
    get() = getValue("place").jsonObject.let { Place(it.text("channel"), it["root"]?.textOrNull) }

private val JsonObject.target: Target
    get() = getValue("target").jsonObject.let {
        when (val of = it.text("of")) {
            "channel" -> Target.Channel(it.text("channel"))
            "thread" -> Target.Thread(it.text("channel"), it.text("root"))
            "message" -> Target.Message(it.text("channel"), it.text("message"))
            else -> error("no such target: $of")
        }
    }
