package org.waggle.reader

import android.os.Bundle
import androidx.activity.ComponentActivity
import androidx.activity.compose.setContent
import androidx.activity.enableEdgeToEdge

/** The one window. */
class MainActivity : ComponentActivity() {
    private val app get() = application as ReaderApplication

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        enableEdgeToEdge()
        setContent { WaggleTheme(app.dynamicColour) { ReaderScreen(app.reader, app.log) } }
    }

    override fun onStart() {
        super.onStart()
        app.reader.onForeground()
    }

    override fun onStop() {
        // While the window is only being rebuilt, the app stays where it is.
        if (!isChangingConfigurations) app.reader.onBackground()
        super.onStop()
    }
}
