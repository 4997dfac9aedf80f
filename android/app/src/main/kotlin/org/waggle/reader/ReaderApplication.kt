package org.waggle.reader

import android.app.Application
import android.content.Context
import android.net.ConnectivityManager
import android.net.Network
import java.time.ZoneId
import java.time.ZoneOffset
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.launch
import org.waggle.ClientConfig
import org.waggle.ClientException
import org.waggle.Mode
import org.waggle.PublicKey
import org.waggle.Waggle
import org.waggle.WaggleLog
import org.waggle.kit.LogModel
import org.waggle.kit.ReaderClient
import org.waggle.kit.ReaderModel
import org.waggle.kit.ReaderSettings
import org.waggle.kit.forReader

/** Holds what lives as long as the process: the reader and the core under it. Screens come and go over it, by rotation too. */
open class ReaderApplication : Application() {
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Main.immediate)

    /** The reader. */
    lateinit var reader: ReaderModel
        private set

    /** The core's log. */
    lateinit var log: LogModel
        private set

    override fun onCreate() {
        super.onCreate()
        reader = ReaderModel(client(), PreferenceSettings(this), scope, ::offsetNow)
        log = LogModel(WaggleLog.lines, scope)
        val networks = getSystemService(ConnectivityManager::class.java)
        networks.registerDefaultNetworkCallback(object : ConnectivityManager.NetworkCallback() {
            override fun onAvailable(network: Network) {
                scope.launch { reader.onNetwork() }
            }
        })
        reader.start()
    }

    /** Opens the core. Reading marks are in files that a backup takes along. */
    protected open fun client(): ReaderClient {
        try {
            WaggleLog.start("info,waggle=debug")
        } catch (_: ClientException) {
            // The process logs already.
        }
        val folder = filesDir.resolve("waggle").path
        return Waggle.open(ClientConfig(folder, Mode.APP), KeystoreSecrets(this)).forReader()
    }

    /** Whether colours come from the wallpaper, where the system has that. */
    open val dynamicColour: Boolean get() = true

    /** Where days begin. */
    protected open fun offsetNow(): ZoneOffset = ZoneId.systemDefault().rules.getOffset(java.time.Instant.now())
}

/** Choices kept in preferences. */
class PreferenceSettings(context: Context) : ReaderSettings {
    private val kept = context.getSharedPreferences("reader", Context.MODE_PRIVATE)

    override var account: PublicKey?
        get() = kept.getString("account", null)
        set(value) = kept.edit().putString("account", value).apply()

    override var communities: List<String>
        get() = kept.getString("communities", "").orEmpty().lines().filter { it.isNotEmpty() }
        set(value) = kept.edit().putString("communities", value.joinToString("\n")).apply()

    override var current: String?
        get() = kept.getString("current", null)
        set(value) = kept.edit().putString("current", value).apply()
}
